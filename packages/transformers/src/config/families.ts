/**
 * @file The families: what each one's `config.json` means, and how its weights are named.
 *
 * A family is a reader of its configuration and, where its weights are not named and shaped as the decoder's, a
 * list of rules (`weights/`). Sources: the model files of `transformers` 5.18, by name.
 */
import { TesseraError, nearestNames } from '@tessera/shared';
import { cat } from '@tessera/tensor';
import { type WeightRule, joined, renamed, stacked, transposed } from '../weights/weight-rules.js';
import { type Defaults, activationOf, llamaLike, tokensOf, windowsOf } from './llama-like.js';
import type { DecoderConfig } from './decoder-config.js';
import { JsonConfig } from './json-config.js';

/** See the file header. */
export interface Family {
  readonly config: (json: JsonConfig) => DecoderConfig;
  /** From a checkpoint's names to the decoder's; what no rule names keeps its name. */
  readonly weights?: readonly WeightRule[];
  /** Put in front of a checkpoint's names where it is missing, as files of the bare model have them. */
  readonly prefix?: string;
}

const LAYER = 'model.layers.{i}';
const ATTENTION = `${LAYER}.self_attn`;

/** As Llama, with a window that all layers have: these families' models do not look at `layer_types`. */
function windowed(json: JsonConfig, absent: Defaults, window: number | null): DecoderConfig {
  const base = llamaLike(json, absent);
  const size = json.sizeOrNull('sliding_window', window);
  const windows = base.attention.windows.map(() => size);
  return { ...base, attention: { ...base.attention, windows } };
}

const MISTRAL: Defaults = { num_key_value_heads: 8, max_position_embeddings: 131_072 };

const mistral = (json: JsonConfig): DecoderConfig => windowed(json, MISTRAL, 4096);

function phi3(json: JsonConfig): DecoderConfig {
  const absent = {
    max_position_embeddings: 4096,
    rms_norm_eps: 1e-5,
    partial_rotary_factor: 1,
    eos_token_id: 32_000,
    pad_token_id: 32_000,
  };
  return windowed(json, absent, null);
}

function qwen2(json: JsonConfig, head_dim?: number): DecoderConfig {
  const base = llamaLike(json, {
    num_key_value_heads: 32,
    max_position_embeddings: 32_768,
    eos_token_id: null,
    ...(head_dim && { head_dim }),
  });
  const uses = json.flag('use_sliding_window', false);
  const window = uses ? json.sizeOrNull('sliding_window', 4096) : null;
  const windows = windowsOf(json, base.layers, window, json.number('max_window_layers', 28));
  return { ...base, attention: { ...base.attention, qkvBias: true, outputBias: false, windows } };
}

function qwen3(json: JsonConfig): DecoderConfig {
  const base = qwen2(json, 128);
  const bias = json.flag('attention_bias', false);
  return {
    ...base,
    attention: { ...base.attention, qkvBias: bias, outputBias: bias, qkNorm: 'head' },
  };
}

function gemma2(json: JsonConfig): DecoderConfig {
  const base = llamaLike(json, {
    num_key_value_heads: 4,
    head_dim: 256,
    max_position_embeddings: 8192,
    tie_word_embeddings: true,
    eos_token_id: 1,
    pad_token_id: 0,
  });
  const window = json.sizeOrNull('sliding_window', 4096);
  const byTurns = Array.from({ length: base.layers }, (_, i) => (i % 2 === 0 ? window : null));
  const hasTypes = json.textsOrNull('layer_types') !== null;
  return {
    ...base,
    attention: {
      ...base.attention,
      scale: json.positive('query_pre_attn_scalar', 256) ** -0.5,
      softCap: json.positiveOrNull('attn_logit_softcapping', 50),
      windows: hasTypes ? windowsOf(json, base.layers, window) : byTurns,
    },
    feedForward: {
      ...base.feedForward,
      activation: activationOf(json.text('hidden_activation', 'gelu_pytorch_tanh')),
    },
    norm: { ...base.norm, kind: 'rms1p', place: 'both' },
    embeddingScale: Math.sqrt(base.width),
    logitSoftCap: json.positiveOrNull('final_logit_softcapping', 30),
  };
}

function olmo2(json: JsonConfig): DecoderConfig {
  const base = llamaLike(json, { rms_norm_eps: 1e-5, eos_token_id: 50_279, pad_token_id: 1 });
  return {
    ...base,
    attention: { ...base.attention, qkNorm: 'all' },
    norm: { ...base.norm, place: 'after' },
  };
}

function mixtral(json: JsonConfig): DecoderConfig {
  const base = windowed(json, { ...MISTRAL, rms_norm_eps: 1e-5, rope_theta: 1e6 }, null);
  const count = json.count('num_local_experts', 8);
  const perToken = json.atMost(
    'num_experts_per_tok',
    json.count('num_experts_per_tok', 2),
    'num_local_experts',
    count,
  );
  return { ...base, feedForward: { ...base.feedForward, experts: { count, perToken } } };
}

function gpt2(json: JsonConfig): DecoderConfig {
  const [width, heads] = [json.size('n_embd', 768), json.size('n_head', 12)];
  const layers = json.count('n_layer', 12);
  const headDim = width / json.dividing('n_head', heads, 'n_embd', width);
  return {
    family: 'gpt2',
    vocabSize: json.size('vocab_size'),
    width,
    layers,
    maxPositions: json.size('n_positions', 1024),
    positions: { kind: 'learned' },
    attention: {
      heads,
      kvHeads: heads,
      headDim,
      qkvBias: true,
      outputBias: true,
      qkNorm: 'none',
      scale: json.flag('scale_attn_weights', true) ? headDim ** -0.5 : 1,
      scaleByDepth: json.flag('scale_attn_by_inverse_layer_idx', false),
      softCap: null,
      windows: windowsOf(json, layers, null),
    },
    feedForward: {
      width: json.size('n_inner', 4 * width),
      activation: activationOf(json.text('activation_function', 'gelu_new')),
      gated: false,
      bias: true,
      experts: null,
    },
    norm: { kind: 'layer', eps: json.positive('layer_norm_epsilon', 1e-5), place: 'before' },
    parallel: false,
    embeddingScale: 1,
    logitSoftCap: null,
    tied: json.flag('tie_word_embeddings', true),
    tokens: tokensOf(json, { eos_token_id: 50_256 }),
  };
}

function gptNeoX(json: JsonConfig): DecoderConfig {
  // It has names of its own for these, and the others' mean nothing outside of `rope_parameters`.
  const base = llamaLike(json.without('rope_theta', 'partial_rotary_factor'), {
    partial_rotary_factor: json.positive('rotary_pct', 0.25),
    rope_theta: json.positive('rotary_emb_base', 10_000),
  });
  const bias = json.flag('attention_bias', true);
  return {
    ...base,
    attention: { ...base.attention, qkvBias: bias, outputBias: bias },
    feedForward: {
      ...base.feedForward,
      activation: activationOf(json.text('hidden_act', 'gelu')),
      gated: false,
      bias: true,
    },
    norm: { kind: 'layer', eps: json.positive('layer_norm_eps', 1e-5), place: 'before' },
    parallel: json.flag('use_parallel_residual', true),
  };
}

const QKV = ['q_proj', 'k_proj', 'v_proj'] as const;
const named = (suffix: string): string[] => QKV.map((name) => `${ATTENTION}.${name}.${suffix}`);

const GPT2_WEIGHTS: readonly WeightRule[] = [
  renamed('transformer.wte.weight', 'model.embed_tokens.weight'),
  renamed('transformer.wpe.weight', 'model.embed_positions.weight'),
  ...['weight', 'bias'].flatMap((suffix) => [
    renamed(`transformer.h.{i}.ln_1.${suffix}`, `${LAYER}.input_layernorm.${suffix}`),
    renamed(`transformer.h.{i}.ln_2.${suffix}`, `${LAYER}.post_attention_layernorm.${suffix}`),
    renamed(`transformer.ln_f.${suffix}`, `model.norm.${suffix}`),
  ]),
  joined('transformer.h.{i}.attn.c_attn.weight', named('weight'), 'columns'),
  joined('transformer.h.{i}.attn.c_attn.bias', named('bias'), 'rows'),
  transposed('transformer.h.{i}.attn.c_proj.weight', `${ATTENTION}.o_proj.weight`),
  renamed('transformer.h.{i}.attn.c_proj.bias', `${ATTENTION}.o_proj.bias`),
  transposed('transformer.h.{i}.mlp.c_fc.weight', `${LAYER}.mlp.up_proj.weight`),
  renamed('transformer.h.{i}.mlp.c_fc.bias', `${LAYER}.mlp.up_proj.bias`),
  transposed('transformer.h.{i}.mlp.c_proj.weight', `${LAYER}.mlp.down_proj.weight`),
  renamed('transformer.h.{i}.mlp.c_proj.bias', `${LAYER}.mlp.down_proj.bias`),
];

const GPT_NEOX_WEIGHTS: readonly WeightRule[] = [
  renamed('gpt_neox.embed_in.weight', 'model.embed_tokens.weight'),
  renamed('embed_out.weight', 'lm_head.weight'),
  ...['weight', 'bias'].flatMap((suffix) => [
    renamed(`gpt_neox.final_layer_norm.${suffix}`, `model.norm.${suffix}`),
    joined(`gpt_neox.layers.{i}.attention.query_key_value.${suffix}`, named(suffix), 'heads'),
    ...[
      ['attention.dense', 'self_attn.o_proj'],
      ['mlp.dense_h_to_4h', 'mlp.up_proj'],
      ['mlp.dense_4h_to_h', 'mlp.down_proj'],
      ['input_layernorm', 'input_layernorm'],
      ['post_attention_layernorm', 'post_attention_layernorm'],
    ].map(([theirs, ours]) =>
      renamed(`gpt_neox.layers.{i}.${theirs}.${suffix}`, `${LAYER}.${ours}.${suffix}`),
    ),
  ]),
];

const PHI3_WEIGHTS: readonly WeightRule[] = [
  joined(`${ATTENTION}.qkv_proj.weight`, named('weight'), 'rows'),
  joined(
    `${LAYER}.mlp.gate_up_proj.weight`,
    [`${LAYER}.mlp.gate_proj.weight`, `${LAYER}.mlp.up_proj.weight`],
    'rows',
  ),
];

const [EXPERTS, SINGLE] = [`${LAYER}.mlp.experts`, `${LAYER}.block_sparse_moe.experts.{e}`];

/** Published checkpoints have a tensor for each expert; some newer ones hold those of a layer in one. */
const MIXTRAL_WEIGHTS: readonly WeightRule[] = [
  renamed(`${LAYER}.block_sparse_moe.gate.weight`, `${LAYER}.mlp.gate.weight`),
  stacked(`${SINGLE}.w1.weight`, `${EXPERTS}.gate_proj.weight`, 'rows'),
  stacked(`${SINGLE}.w3.weight`, `${EXPERTS}.up_proj.weight`, 'rows'),
  stacked(`${SINGLE}.w2.weight`, `${EXPERTS}.down_proj.weight`, 'columns'),
  stacked(`${EXPERTS}.down_proj`, `${EXPERTS}.down_proj.weight`, 'columns'),
  {
    checkpoint: [`${EXPERTS}.gate_up_proj`],
    model: [`${EXPERTS}.gate_proj.weight`, `${EXPERTS}.up_proj.weight`],
    toModel: ([value]) => value!.chunk(2, 1).map((part) => part.flatten(0, 1)),
    toCheckpoint: (values, { feedForward: { experts } }) => [
      cat(
        values.map((value) => value.unflatten(0, [experts!.count, -1])),
        1,
      ),
    ],
  },
];

const FAMILIES = new Map<string, Family>([
  ['llama', { config: (json) => llamaLike(json) }],
  ['qwen2', { config: (json) => qwen2(json) }],
  ['qwen3', { config: qwen3 }],
  ['mistral', { config: mistral }],
  ['gemma2', { config: gemma2 }],
  ['phi3', { config: phi3, weights: PHI3_WEIGHTS }],
  ['gpt2', { config: gpt2, weights: GPT2_WEIGHTS, prefix: 'transformer.' }],
  ['gpt_neox', { config: gptNeoX, weights: GPT_NEOX_WEIGHTS }],
  ['olmo2', { config: olmo2 }],
  ['mixtral', { config: mixtral, weights: MIXTRAL_WEIGHTS }],
]);

/** Adds a family, or puts another in the place of one. */
export function registerFamily(modelType: string, family: Family): void {
  FAMILIES.set(modelType, family);
}

/** The family of a `config.json`. @throws model-unsupported, model-invalid */
export function familyOf(json: JsonConfig): Family {
  const name = json.text('model_type');
  const found = FAMILIES.get(name);
  if (found !== undefined) return found;
  const known = [...FAMILIES.keys()];
  const [near] = nearestNames(name, known);
  throw new TesseraError('model-unsupported', `There is no model family '${name}' here.`, {
    context: { family: name },
    hints: [
      near === undefined ? `Known are: ${known.join(', ')}.` : `Did you mean '${near}'?`,
      'registerFamily(name, family) adds one.',
    ],
  });
}

/** What a `config.json` says; fields that are left out mean what they mean in `transformers`. @throws model-unsupported, model-invalid */
export function readConfig(config: unknown): DecoderConfig {
  const json = JsonConfig.of(config);
  return familyOf(json).config(json);
}
