/**
 * @file Models as GGUF files, laid out as llama.cpp's converter does it: by plain loops over arrays.
 */
import type { CausalLM } from '../../src/index.js';
import { type Value, type Written, f32, writeGguf } from './gguf-writer.js';

const NAMES: readonly (readonly [RegExp, string])[] = [
  [/^model\.embed_tokens/, 'token_embd'],
  [/^model\.embed_positions/, 'position_embd'],
  [/^model\.norm/, 'output_norm'],
  [/^lm_head/, 'output'],
  [/^model\.layers\.(\d+)\.self_attn\.([qkv])_proj/, 'blk.$1.attn_$2'],
  [/^model\.layers\.(\d+)\.self_attn\.([qk])_norm/, 'blk.$1.attn_$2_norm'],
  [/^model\.layers\.(\d+)\.self_attn\.o_proj/, 'blk.$1.attn_output'],
  [/^model\.layers\.(\d+)\.mlp\.(gate|up|down)_proj/, 'blk.$1.ffn_$2'],
  [/^model\.layers\.(\d+)\.mlp\.gate\./, 'blk.$1.ffn_gate_inp.'],
  [/^model\.layers\.(\d+)\.input_layernorm/, 'blk.$1.attn_norm'],
];
const AFTER: readonly (readonly [RegExp, string])[] = [
  [/^model\.layers\.(\d+)\.post_attention_layernorm/, 'blk.$1.post_attention_norm'],
  [/^model\.layers\.(\d+)\.pre_feedforward_layernorm/, 'blk.$1.ffn_norm'],
  [/^model\.layers\.(\d+)\.post_feedforward_layernorm/, 'blk.$1.post_ffw_norm'],
];
const BEFORE: readonly (readonly [RegExp, string])[] = [
  [/^model\.layers\.(\d+)\.post_attention_layernorm/, 'blk.$1.ffn_norm'],
];

/** Halves of each head's rows → pairs, as llama.cpp's `permute`. */
function paired(values: readonly number[], rows: number, heads: number): number[] {
  const columns = values.length / rows;
  const half = rows / heads / 2;
  const out: number[] = Array<number>(values.length);
  for (let head = 0; head < heads; head++)
    for (let pair = 0; pair < half; pair++)
      for (const part of [0, 1])
        for (let c = 0; c < columns; c++)
          out[((head * half + pair) * 2 + part) * columns + c] =
            values[((head * 2 + part) * half + pair) * columns + c]!;
  return out;
}

/** Tensors of a model under GGUF's names. */
function tensorsOf(model: CausalLM, architecture: string): Record<string, Written> {
  const { config } = model;
  const out: Record<string, Written> = {};
  const join: Record<string, string[]> =
    architecture === 'gpt2' || architecture === 'gptneox'
      ? { attn_qkv: ['attn_q', 'attn_k', 'attn_v'] }
      : architecture === 'phi3'
        ? { attn_qkv: ['attn_q', 'attn_k', 'attn_v'], ffn_up: ['ffn_gate', 'ffn_up'] }
        : {};
  for (const [name, tensor] of Object.entries(model.stateDict())) {
    let values = (tensor.toArray() as unknown as number[][]).flat(Infinity) as number[];
    const part = /(\d+)\.mlp\.experts\.(gate|up|down)_proj/.exec(name);
    if (part !== null) {
      const { count } = config.feedForward.experts!;
      const [rows, columns] = tensor.sizes as [number, number];
      const sizes = part[2] === 'down' ? [rows, columns / count] : [rows / count, columns];
      // The parts of `down` lie side by side: of each row a piece for every expert.
      if (part[2] === 'down')
        values = Array.from({ length: count }, (_, e) =>
          Array.from({ length: rows }, (_row, n) => {
            const at = n * columns + e * sizes[1]!;
            return values.slice(at, at + sizes[1]!);
          }),
        ).flat(2);
      out[`blk.${part[1]}.ffn_${part[2]}_exps.weight`] = f32([count, ...sizes], values);
      continue;
    }
    const rule = [...(config.norm.place === 'before' ? BEFORE : AFTER), ...NAMES].find(
      ([pattern]) => pattern.test(name),
    )!;
    const theirs = name.replace(rule[0], rule[1]);
    if (architecture === 'llama' && /attn_q\./.test(theirs))
      values = paired(values, tensor.sizes[0]!, config.attention.heads);
    if (architecture === 'llama' && /attn_k\./.test(theirs))
      values = paired(values, tensor.sizes[0]!, config.attention.kvHeads);
    if (architecture === 'gemma2' && theirs.includes('norm')) values = values.map((v) => v + 1);
    out[theirs] = f32(tensor.sizes, values);
  }
  for (const [joined, parts] of Object.entries(join))
    for (let i = 0; i < config.layers; i++)
      for (const suffix of ['weight', 'bias']) {
        const found = parts.flatMap((part) => out[`blk.${i}.${part}.${suffix}`] ?? []);
        if (found.length === 0) continue;
        for (const part of parts) delete out[`blk.${i}.${part}.${suffix}`];
        const rows = found.reduce((sum, { sizes }) => sum + sizes[0]!, 0);
        const bytes = found.flatMap((part) => [...part.bytes]);
        out[`blk.${i}.${joined}.${suffix}`] = {
          code: 0,
          sizes: [rows, ...found[0]!.sizes.slice(1)],
          bytes: Uint8Array.from(bytes),
        };
      }
  return out;
}

/** A model as a file, with more values where its architecture has them. */
export function ggufOf(
  model: CausalLM,
  architecture: string,
  more: Readonly<Record<string, Value>> = {},
  change: (tensors: Record<string, Written>) => void = () => {},
): Uint8Array<ArrayBuffer> {
  const { attention, feedForward, norm, positions, ...config } = model.config;
  const values: Record<string, Value> = {
    embedding_length: config.width,
    feed_forward_length: feedForward.width,
    block_count: config.layers,
    'attention.head_count': attention.heads,
    'attention.head_count_kv': attention.kvHeads,
    'attention.key_length': attention.headDim,
    context_length: config.maxPositions,
    [norm.kind === 'layer' ? 'attention.layer_norm_epsilon' : 'attention.layer_norm_rms_epsilon']: {
      f32: norm.eps,
    },
    ...(positions.kind === 'rotary' && {
      'rope.freq_base': { f32: positions.theta },
      'rope.dimension_count': positions.dims,
    }),
    ...(feedForward.experts && {
      expert_count: feedForward.experts.count,
      expert_used_count: feedForward.experts.perToken,
    }),
  };
  const tensors = tensorsOf(model, architecture);
  change(tensors);
  return writeGguf(
    {
      'general.architecture': architecture,
      ...Object.fromEntries(
        Object.entries(values).map(([name, value]) => [`${architecture}.${name}`, value]),
      ),
      'tokenizer.ggml.eos_token_id': 2,
      ...more,
    },
    tensors,
  );
}
