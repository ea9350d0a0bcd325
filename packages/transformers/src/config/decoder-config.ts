/**
 * @file `DecoderConfig`: what a decoder is made of, the same for all families.
 *
 * Families differ in data: which norms there are and where, how positions enter, what the attention sees. A
 * `config.json` is read into this once (`families/`), and the model knows nothing else.
 */

import type { GenerationConfig } from './generation-config.js';

/** Names of activations as `config.json` spells them. */
export type ActivationName = 'silu' | 'gelu' | 'gelu_tanh' | 'relu';

/** Stretching of rotary positions beyond the length of training. */
export type RotaryScaling =
  | { readonly kind: 'none' }
  /** Positions divided by `factor`. */
  | { readonly kind: 'linear'; readonly factor: number }
  /** Long wavelengths divided by `factor`, short ones kept, a smooth step between. @see Llama 3.1 */
  | {
      readonly kind: 'llama3';
      readonly factor: number;
      readonly lowFrequencyFactor: number;
      readonly highFrequencyFactor: number;
      readonly originalLength: number;
    }
  /**
   * Pairs that turn less than `slow` times within the length of training are divided by `factor`, those that turn more
   * than `fast` times are kept, a ramp over the pairs between. @see https://arxiv.org/abs/2309.00071
   */
  | {
      readonly kind: 'yarn';
      readonly factor: number;
      readonly fast: number;
      readonly slow: number;
      readonly originalLength: number;
      /** Whether the ramp begins and ends at whole pairs. */
      readonly whole: boolean;
    }
  /**
   * A greater `theta` for texts beyond the length of training: the longer the text, the greater. @see
   * `_compute_dynamic_ntk_parameters` of `transformers`
   */
  | { readonly kind: 'dynamic'; readonly factor: number; readonly originalLength: number }
  /** Each pair divided by a factor of its own, other ones for texts beyond the length of training. @see https://arxiv.org/abs/2402.13753 */
  | {
      readonly kind: 'longrope';
      readonly short: readonly number[];
      readonly long: readonly number[];
      readonly originalLength: number;
    };

/** How tokens know where they stand. */
export type Positions =
  /** Rotation of the first `dims` elements of each head of query and key. */
  | {
      readonly kind: 'rotary';
      readonly dims: number;
      readonly theta: number;
      readonly scaling: RotaryScaling;
      /** Factor of what is turned. */
      readonly amplitude: number;
    }
  /** A learned vector for each position. */
  | { readonly kind: 'learned' };

/** Attention of every layer. */
export interface AttentionConfig {
  readonly heads: number;
  /** Heads of key and value; several heads of the query share one. */
  readonly kvHeads: number;
  readonly headDim: number;
  readonly qkvBias: boolean;
  readonly outputBias: boolean;
  /** Norm of query and key: of each head, of all heads at once, or none. */
  readonly qkNorm: 'none' | 'head' | 'all';
  /** Factor of the scores. */
  readonly scale: number;
  /** Whether the scores of the second layer are halved, those of the third divided by three, and so on. */
  readonly scaleByDepth: boolean;
  /** Scores are `cap · tanh(score / cap)`. */
  readonly softCap: number | null;
  /** For each layer: how many positions a token sees, itself included; null is all before it. */
  readonly windows: readonly (number | null)[];
}

/** What follows the attention. */
export interface FeedForwardConfig {
  readonly width: number;
  readonly activation: ActivationName;
  /** `down(act(gate(x)) · up(x))`, else `down(act(up(x)))`. */
  readonly gated: boolean;
  readonly bias: boolean;
  /** Several of them, of which a router picks some for each token. */
  readonly experts: { readonly count: number; readonly perToken: number } | null;
}

/** See the file header. */
export interface DecoderConfig {
  readonly family: string;
  readonly vocabSize: number;
  readonly width: number;
  readonly layers: number;
  /** Longest sequence. */
  readonly maxPositions: number;
  readonly positions: Positions;
  readonly attention: AttentionConfig;
  readonly feedForward: FeedForwardConfig;
  readonly norm: {
    /** `rms1p` has weights that count from one. */
    readonly kind: 'rms' | 'rms1p' | 'layer';
    readonly eps: number;
    /** Where the norms of a layer are: before its two parts, after them, or both. */
    readonly place: 'before' | 'after' | 'both';
  };
  /** Whether attention and feed-forward both read the input of the layer. */
  readonly parallel: boolean;
  /** Factor of the embeddings. */
  readonly embeddingScale: number;
  /** Logits are `cap · tanh(logit / cap)`. */
  readonly logitSoftCap: number | null;
  /** Whether the embedding is the weight of the logits, too. */
  readonly tied: boolean;
  /** Tokens that end a text, and the one that pads it. */
  readonly tokens: { readonly end: readonly number[]; readonly pad: number | null };
  /** What `generation_config.json` asks for, where there is one. */
  readonly generation?: GenerationConfig;
}
