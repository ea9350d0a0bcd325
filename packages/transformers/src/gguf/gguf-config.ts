/**
 * @file What the values of a GGUF header mean, as the `config.json` of the family: one reader for both.
 */
import { TesseraError } from '@tessera/shared';
import type { GgufHeader, GgufTensor, GgufValue } from './gguf-header.js';
import { invalidGguf } from './gguf-invalid.js';

type Fields = Record<string, unknown>;

/** The values of an architecture. */
class Values {
  constructor(
    private readonly metadata: GgufHeader['metadata'],
    readonly architecture: string,
  ) {}

  /** A number below the architecture's name; undefined where there is none. @throws gguf-invalid */
  number(name: string): number | undefined {
    const value = this.metadata.get(`${this.architecture}.${name}`);
    if (value === undefined || typeof value === 'number') return value;
    if (Array.isArray(value) && new Set(value).size === 1) return value[0] as number;
    if (Array.isArray(value))
      throw new TesseraError(
        'model-unsupported',
        `'${this.architecture}.${name}' differs from layer to layer.`,
        { context: { field: name } },
      );
    invalidGguf(`'${this.architecture}.${name}' is no number`, { field: name });
  }

  plain(name: string): GgufValue | undefined {
    return this.metadata.get(name);
  }

  own(name: string): GgufValue | undefined {
    return this.metadata.get(`${this.architecture}.${name}`);
  }
}

/** What a file means that does not say it. */
function headDimOf(width = 0, heads = 0): number | undefined {
  return Number.isInteger(width / heads) ? width / heads : undefined;
}

/** What Llama and its kin say. Fields that are not in the file are left out: the family knows what they are. */
function llamaFields(values: Values): Fields {
  const [width, heads] = [values.number('embedding_length'), values.number('attention.head_count')];
  return {
    hidden_size: width,
    intermediate_size: values.number('feed_forward_length'),
    num_hidden_layers: values.number('block_count'),
    num_attention_heads: heads,
    num_key_value_heads: values.number('attention.head_count_kv') ?? heads,
    head_dim: values.number('attention.key_length') ?? headDimOf(width, heads),
    max_position_embeddings: values.number('context_length'),
    rms_norm_eps: values.number('attention.layer_norm_rms_epsilon'),
    layer_norm_eps: values.number('attention.layer_norm_epsilon'),
    rope_theta: values.number('rope.freq_base') ?? 10_000,
    sliding_window: values.number('attention.sliding_window'),
    num_local_experts: values.number('expert_count') || undefined,
    num_experts_per_tok: values.number('expert_used_count') || undefined,
  };
}

function gptNeoXFields(values: Values): Fields {
  const base = llamaFields(values);
  const dims = values.number('rope.dimension_count');
  const headDim = Number(base['hidden_size']) / Number(base['num_attention_heads']);
  return {
    ...base,
    rotary_emb_base: base['rope_theta'],
    rotary_pct: dims === undefined ? undefined : dims / headDim,
    use_parallel_residual: values.own('use_parallel_residual') ?? true,
  };
}

function gemma2Fields(values: Values): Fields {
  const base = llamaFields(values);
  const [width, heads] = [base['hidden_size'], base['num_attention_heads']].map(Number);
  // The file does not have it: the largest of the three models, of 46 layers, divides by its own.
  const scale = base['num_hidden_layers'] === 46 ? width / heads : base['head_dim'];
  return {
    ...base,
    query_pre_attn_scalar: scale,
    attn_logit_softcapping: values.number('attn_logit_softcapping') ?? 50,
    final_logit_softcapping: values.number('final_logit_softcapping') ?? 30,
  };
}

function gpt2Fields(values: Values): Fields {
  return {
    n_embd: values.number('embedding_length'),
    n_head: values.number('attention.head_count'),
    n_layer: values.number('block_count'),
    n_inner: values.number('feed_forward_length'),
    n_positions: values.number('context_length'),
    layer_norm_epsilon: values.number('attention.layer_norm_epsilon'),
  };
}

/** Families by the names that GGUF has for them. */
const ARCHITECTURES: Readonly<Record<string, { family: string; fields: (v: Values) => Fields }>> = {
  llama: { family: 'llama', fields: llamaFields },
  qwen2: { family: 'qwen2', fields: llamaFields },
  qwen3: { family: 'qwen3', fields: llamaFields },
  gemma2: { family: 'gemma2', fields: gemma2Fields },
  phi3: { family: 'phi3', fields: llamaFields },
  olmo2: { family: 'olmo2', fields: llamaFields },
  gpt2: { family: 'gpt2', fields: gpt2Fields },
  gptneox: { family: 'gpt_neox', fields: gptNeoXFields },
};

function refuse(what: string, hint: string): never {
  throw new TesseraError('model-unsupported', what, { hints: [hint] });
}

/** Tensors with what frequencies are divided by, which are no weights of ours. */
export const FACTORS = {
  /** Of Llama 3. */
  all: 'rope_freqs.weight',
  /** Of Phi-3, for texts up to the length of training and for longer ones. */
  short: 'rope_factors_short.weight',
  long: 'rope_factors_long.weight',
} as const;

/** What those hold that a file has. */
export type RotaryFactors = { readonly [K in keyof typeof FACTORS]?: readonly number[] };

/** Stretching of positions. Llama 3's is there only as the factors that it comes to. */
function scalingOf(values: Values, { all, short, long }: RotaryFactors): Fields | null {
  const type = values.own('rope.scaling.type') ?? 'none';
  const amplitude = values.number('rope.scaling.attn_factor');
  const factor = values.number('rope.scaling.factor');
  const original_max_position_embeddings = values.number('rope.scaling.original_context_length');
  if (all !== undefined)
    return {
      rope_type: 'llama3',
      factor: Math.max(...all),
      low_freq_factor: 1,
      high_freq_factor: 4,
      original_max_position_embeddings: 8192,
    };
  if (short !== undefined || long !== undefined)
    return {
      rope_type: 'longrope',
      short_factor: short,
      long_factor: long,
      attention_factor: amplitude,
      original_max_position_embeddings,
    };
  switch (type) {
    case 'none':
    case 'longrope':
      return null;
    case 'linear':
      return { rope_type: 'linear', factor };
    case 'yarn':
      return {
        rope_type: 'yarn',
        factor,
        // ggml's is put on the one that follows from the factor.
        attention_factor:
          amplitude === undefined || factor === undefined
            ? undefined
            : amplitude * (1 + 0.1 * Math.log(factor)),
        beta_fast: values.number('rope.scaling.yarn_beta_fast'),
        beta_slow: values.number('rope.scaling.yarn_beta_slow'),
        original_max_position_embeddings,
      };
    default:
      refuse(
        `Positions are stretched by '${String(type)}'.`,
        "Known are 'none', 'linear', 'yarn', 'longrope' and the one of Llama 3.",
      );
  }
}

/**
 * The `config.json` of a file's family.
 *
 * @throws model-unsupported, gguf-invalid
 */
export function configOfGguf(
  { metadata, tensors }: GgufHeader,
  factors: RotaryFactors,
): Record<string, unknown> {
  const name = metadata.get('general.architecture');
  if (typeof name !== 'string') invalidGguf("it does not say its 'general.architecture'");
  if (!Object.hasOwn(ARCHITECTURES, name))
    refuse(
      `There is no architecture '${name}' here.`,
      `Known are: ${Object.keys(ARCHITECTURES).join(', ')}.`,
    );
  const { family, fields } = ARCHITECTURES[name]!;
  const values = new Values(metadata, name);
  const named = new Map(tensors.map((tensor): [string, GgufTensor] => [tensor.name, tensor]));
  const found = fields(values);
  const ends = ['eos', 'eot', 'eom'].flatMap(
    (kind) => values.plain(`tokenizer.ggml.${kind}_token_id`) ?? [],
  );
  const all: Record<string, unknown> = {
    model_type: found['num_local_experts'] === undefined ? family : 'mixtral',
    vocab_size: named.get('token_embd.weight')?.sizes[0],
    ...found,
    attention_bias: named.has('blk.0.attn_q.bias') || family === 'gpt_neox',
    tie_word_embeddings: !named.has('output.weight'),
    eos_token_id: [...new Set(ends)],
    pad_token_id: values.plain('tokenizer.ggml.padding_token_id'),
    rope_scaling: scalingOf(values, factors) ?? undefined,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}
