/**
 * @file What the `config.json` of several families say in the same words.
 */
import { TesseraError } from '@tessera/shared';
import type { ActivationName, AttentionConfig, DecoderConfig } from './decoder-config.js';
import type { JsonConfig } from './json-config.js';
import { rotaryOf } from './rotary-config.js';
import { unsupported } from './unsupported.js';

const ACTIVATIONS: Readonly<Record<string, ActivationName>> = {
  silu: 'silu',
  swish: 'silu',
  gelu: 'gelu',
  gelu_new: 'gelu_tanh',
  gelu_pytorch_tanh: 'gelu_tanh',
  gelu_fast: 'gelu_tanh',
  relu: 'relu',
};

/** @throws model-unsupported */
export function activationOf(name: string): ActivationName {
  const found = ACTIVATIONS[name];
  if (found === undefined) throw unsupported('activation', name, Object.keys(ACTIVATIONS));
  return found;
}

const LAYER_TYPES = ['full_attention', 'sliding_attention'];

/** What `layer_types` says of each layer, or null where it is left out. @throws model-invalid, model-unsupported */
function layerTypesOf(json: JsonConfig, layers: number): readonly string[] | null {
  const types = json.textsOrNull('layer_types');
  if (types === null) return null;
  if (types.length !== layers)
    throw new TesseraError(
      'model-invalid',
      `config.json: 'layer_types' has ${types.length} entries; there are ${layers} layers.`,
      {
        context: { field: 'layer_types', entries: types.length, layers },
        hints: ['Take config.json from the folder of the weights.'],
      },
    );
  const strange = types.find((type) => !LAYER_TYPES.includes(type));
  if (strange !== undefined) throw unsupported('layer type', strange, LAYER_TYPES);
  return types;
}

/**
 * How far each layer sees: as `layer_types` says, else `window` in all layers from `from` on.
 *
 * @throws model-invalid, model-unsupported
 */
export function windowsOf(
  json: JsonConfig,
  layers: number,
  window: number | null,
  from = 0,
): AttentionConfig['windows'] {
  const types = layerTypesOf(json, layers);
  return Array.from({ length: layers }, (_, i) => {
    if (types !== null) return types[i] === 'sliding_attention' ? window : null;
    return i >= from ? window : null;
  });
}

/** What fields mean that a family's file leaves out; where this says nothing, what they mean for Llama. */
export interface Defaults {
  readonly num_key_value_heads?: number;
  readonly head_dim?: number;
  readonly max_position_embeddings?: number;
  readonly rms_norm_eps?: number;
  readonly rope_theta?: number;
  readonly tie_word_embeddings?: boolean;
  /** Share of each head that is turned; other families than those that name one turn all of it. */
  readonly partial_rotary_factor?: number;
  /** Null: no token ends a text. */
  readonly eos_token_id?: number | null;
  readonly pad_token_id?: number;
}

/** A decoder as Llama is: what other families change, they change in the result. @throws model-invalid, model-unsupported */
export function llamaLike(json: JsonConfig, absent: Defaults = {}): DecoderConfig {
  const width = json.size('hidden_size');
  const heads = json.size('num_attention_heads');
  const headDim =
    json.sizeOrNull('head_dim', absent.head_dim) ??
    width / json.dividing('num_attention_heads', heads, 'hidden_size', width);
  const kvHeads = json.sizeOrNull('num_key_value_heads', absent.num_key_value_heads) ?? heads;
  const layers = json.count('num_hidden_layers');
  return {
    family: json.text('model_type'),
    vocabSize: json.size('vocab_size'),
    width,
    layers,
    maxPositions: json.size('max_position_embeddings', absent.max_position_embeddings ?? 2048),
    positions: rotaryOf(json, headDim, absent),
    attention: {
      heads,
      kvHeads: json.dividing('num_key_value_heads', kvHeads, 'num_attention_heads', heads),
      headDim,
      qkvBias: json.flag('attention_bias', false),
      outputBias: json.flag('attention_bias', false),
      qkNorm: 'none',
      scale: headDim ** -0.5,
      scaleByDepth: false,
      softCap: null,
      windows: windowsOf(json, layers, null),
    },
    feedForward: {
      width: json.size('intermediate_size'),
      activation: activationOf(json.text('hidden_act', 'silu')),
      gated: true,
      bias: json.flag('mlp_bias', false),
      experts: null,
    },
    norm: {
      kind: 'rms',
      eps: json.positive('rms_norm_eps', absent.rms_norm_eps ?? 1e-6),
      place: 'before',
    },
    parallel: false,
    embeddingScale: 1,
    logitSoftCap: null,
    tied: json.flag('tie_word_embeddings', absent.tie_word_embeddings ?? false),
    tokens: tokensOf(json, { eos_token_id: 2, ...absent }),
  };
}

/** Tokens that end a text, and the one that pads it: none where the vocabulary has no such token, as with -1. */
export function tokensOf(
  json: JsonConfig,
  { eos_token_id: end = null, pad_token_id: padding }: Defaults,
): DecoderConfig['tokens'] {
  const pad = json.tokens('pad_token_id', padding === undefined ? [] : [padding])[0] ?? -1;
  return {
    end: json.tokens('eos_token_id', end === null ? [] : [end]),
    pad: pad >= 0 && pad < json.size('vocab_size') ? pad : null,
  };
}
