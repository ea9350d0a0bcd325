/**
 * @file `TransformerEncoderLayer` and `TransformerDecoderLayer`: attention and a feed-forward network,
 * each added to what it read and normalised before or after.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type Tensor, gelu, relu } from '@tessera/tensor';
import { checkOptions } from '../module/check-options.js';
import { Module } from '../module/module.js';
import { Dropout } from './dropout.js';
import type { FactoryOptions } from './factory-options.js';
import { Linear } from './linear.js';
import { MultiheadAttention } from './multihead-attention.js';
import { LayerNorm } from './norm.js';
import { checkTensors } from '@tessera/tensor/internal';

/** Options of a transformer layer. */
export interface TransformerLayerOptions extends FactoryOptions {
  /** Width of the feed-forward network (default 2048). */
  readonly dimFeedforward?: number;
  /** Share dropped after attention, within and after the feed-forward network (default 0.1). */
  readonly dropout?: number;
  /** Between the two feed-forward layers (default `relu`). */
  readonly activation?: 'relu' | 'gelu' | ((input: Tensor) => Tensor);
  /** Added to the variance by the norms (default 1e-5). */
  readonly layerNormEps?: number;
  /** Whether sequences are [N, T, E] instead of [T, N, E] (default false). */
  readonly batchFirst?: boolean;
  /** Whether norms come before attention and feed-forward instead of after (default false). */
  readonly normFirst?: boolean;
  /** Whether linear layers and norms have biases (default true). */
  readonly bias?: boolean;
}

/** Masks of a call of an encoder layer. */
export interface EncoderLayerMasks extends Omit<EncoderMasks, 'mask'> {
  /** [T, T] or [N · heads, T, T] */
  readonly srcMask?: Tensor | null;
}

/** Masks of a call of an encoder. */
export interface EncoderMasks {
  /** [T, T] or [N · heads, T, T] */
  readonly mask?: Tensor | null;
  /** [N, T] */
  readonly srcKeyPaddingMask?: Tensor | null;
  /** Hint that the mask is causal (default false). */
  readonly isCausal?: boolean;
}

/** Names of an encoder layer's masks. */
const ENCODER_LAYER_MASKS: OptionNames<EncoderLayerMasks> = {
  srcMask: true,
  srcKeyPaddingMask: true,
  isCausal: true,
};

/** Masks of a call of a decoder layer or a decoder. */
export interface DecoderMasks {
  /** [T, T] or [N · heads, T, T] */
  readonly tgtMask?: Tensor | null;
  /** [T, S] or [N · heads, T, S] */
  readonly memoryMask?: Tensor | null;
  /** [N, T] */
  readonly tgtKeyPaddingMask?: Tensor | null;
  /** [N, S] */
  readonly memoryKeyPaddingMask?: Tensor | null;
  /** Hint that `tgtMask` is causal (default false). */
  readonly tgtIsCausal?: boolean;
  /** Hint that `memoryMask` is causal (default false). */
  readonly memoryIsCausal?: boolean;
}

/** Names of a decoder's masks. */
export const DECODER_MASKS: OptionNames<DecoderMasks> = {
  tgtMask: true,
  memoryMask: true,
  tgtKeyPaddingMask: true,
  memoryKeyPaddingMask: true,
  tgtIsCausal: true,
  memoryIsCausal: true,
};

const ACTIVATIONS = { relu, gelu: (input: Tensor): Tensor => gelu(input) };

/** @throws invalid-argument */
function activationOf(
  activation: TransformerLayerOptions['activation'] = 'relu',
): (input: Tensor) => Tensor {
  if (typeof activation === 'function') return activation;
  if (Object.hasOwn(ACTIVATIONS, activation)) return ACTIVATIONS[activation];
  throw new TesseraError(
    'invalid-argument',
    `activation should be relu/gelu, not ${String(activation)}`,
    { hints: ['Pass a function for another one.'] },
  );
}

/** A layer of a transformer's encoder. @see torch.nn.TransformerEncoderLayer @see https://arxiv.org/abs/1706.03762 */
export class TransformerEncoderLayer extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof TransformerLayerOptions, true>> = {
    dimFeedforward: true,
    dropout: true,
    activation: true,
    layerNormEps: true,
    batchFirst: true,
    normFirst: true,
    bias: true,
    device: true,
    dtype: true,
  };

  readonly normFirst: boolean;
  self_attn: MultiheadAttention;
  linear1: Linear;
  dropout: Dropout;
  linear2: Linear;
  norm1: LayerNorm;
  norm2: LayerNorm;
  dropout1: Dropout;
  dropout2: Dropout;
  readonly activation: (input: Tensor) => Tensor;

  /** @throws invalid-argument */
  constructor(
    readonly dModel: number,
    nhead: number,
    options: TransformerLayerOptions = {},
  ) {
    super();
    checkOptions(new.target, options);
    const {
      dimFeedforward = 2048,
      dropout = 0.1,
      activation,
      layerNormEps: eps = 1e-5,
      batchFirst = false,
      normFirst = false,
      bias = true,
      ...factory
    } = options;
    this.normFirst = normFirst;
    this.self_attn = new MultiheadAttention(dModel, nhead, {
      dropout,
      bias,
      batchFirst,
      ...factory,
    });
    this.linear1 = new Linear(dModel, dimFeedforward, { bias, ...factory });
    this.dropout = new Dropout(dropout);
    this.linear2 = new Linear(dimFeedforward, dModel, { bias, ...factory });
    this.norm1 = new LayerNorm(dModel, { eps, bias, ...factory });
    this.norm2 = new LayerNorm(dModel, { eps, bias, ...factory });
    this.dropout1 = new Dropout(dropout);
    this.dropout2 = new Dropout(dropout);
    this.activation = activationOf(activation);
  }

  /** [T, N, E] → [T, N, E] @throws shape-mismatch, dtype-mismatch, invalid-argument */
  override forward(src: Tensor, masks: EncoderLayerMasks = {}): Tensor {
    checkOptionNames('TransformerEncoderLayer.call', masks, ENCODER_LAYER_MASKS);
    checkTensors('TransformerEncoderLayer', { src });
    if (this.normFirst) {
      const x = src.add(this.attend(this.norm1.call(src), masks));
      return x.add(this.feedForward(this.norm2.call(x)));
    }
    const x = this.norm1.call(src.add(this.attend(src, masks)));
    return this.norm2.call(x.add(this.feedForward(x)));
  }

  private attend(x: Tensor, masks: EncoderLayerMasks): Tensor {
    const [output] = this.self_attn.call(x, x, x, {
      attnMask: masks.srcMask ?? null,
      keyPaddingMask: masks.srcKeyPaddingMask ?? null,
      isCausal: masks.isCausal ?? false,
      needWeights: false,
    });
    return this.dropout1.call(output);
  }

  private feedForward(x: Tensor): Tensor {
    const inner = this.dropout.call(this.activation(this.linear1.call(x)));
    return this.dropout2.call(this.linear2.call(inner));
  }
}

/** A layer of a transformer's decoder. @see torch.nn.TransformerDecoderLayer @see https://arxiv.org/abs/1706.03762 */
export class TransformerDecoderLayer extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof TransformerLayerOptions, true>> = {
    dimFeedforward: true,
    dropout: true,
    activation: true,
    layerNormEps: true,
    batchFirst: true,
    normFirst: true,
    bias: true,
    device: true,
    dtype: true,
  };

  readonly normFirst: boolean;
  self_attn: MultiheadAttention;
  multihead_attn: MultiheadAttention;
  linear1: Linear;
  dropout: Dropout;
  linear2: Linear;
  norm1: LayerNorm;
  norm2: LayerNorm;
  norm3: LayerNorm;
  dropout1: Dropout;
  dropout2: Dropout;
  dropout3: Dropout;
  readonly activation: (input: Tensor) => Tensor;

  /** @throws invalid-argument */
  constructor(
    readonly dModel: number,
    nhead: number,
    options: TransformerLayerOptions = {},
  ) {
    super();
    checkOptions(new.target, options);
    const {
      dimFeedforward = 2048,
      dropout = 0.1,
      activation,
      layerNormEps: eps = 1e-5,
      batchFirst = false,
      normFirst = false,
      bias = true,
      ...factory
    } = options;
    const attention = { dropout, bias, batchFirst, ...factory };
    this.normFirst = normFirst;
    this.self_attn = new MultiheadAttention(dModel, nhead, attention);
    this.multihead_attn = new MultiheadAttention(dModel, nhead, attention);
    this.linear1 = new Linear(dModel, dimFeedforward, { bias, ...factory });
    this.dropout = new Dropout(dropout);
    this.linear2 = new Linear(dimFeedforward, dModel, { bias, ...factory });
    this.norm1 = new LayerNorm(dModel, { eps, bias, ...factory });
    this.norm2 = new LayerNorm(dModel, { eps, bias, ...factory });
    this.norm3 = new LayerNorm(dModel, { eps, bias, ...factory });
    this.dropout1 = new Dropout(dropout);
    this.dropout2 = new Dropout(dropout);
    this.dropout3 = new Dropout(dropout);
    this.activation = activationOf(activation);
  }

  /** [T, N, E], the encoder's [S, N, E] → [T, N, E] @throws shape-mismatch, dtype-mismatch, invalid-argument */
  override forward(tgt: Tensor, memory: Tensor, masks: DecoderMasks = {}): Tensor {
    checkOptionNames('TransformerDecoderLayer.call', masks, DECODER_MASKS);
    checkTensors('TransformerDecoderLayer', { tgt, memory });
    if (this.normFirst) {
      let x = tgt.add(this.attend(this.norm1.call(tgt), masks));
      x = x.add(this.attendMemory(this.norm2.call(x), memory, masks));
      return x.add(this.feedForward(this.norm3.call(x)));
    }
    let x = this.norm1.call(tgt.add(this.attend(tgt, masks)));
    x = this.norm2.call(x.add(this.attendMemory(x, memory, masks)));
    return this.norm3.call(x.add(this.feedForward(x)));
  }

  private attend(x: Tensor, masks: DecoderMasks): Tensor {
    const [output] = this.self_attn.call(x, x, x, {
      attnMask: masks.tgtMask ?? null,
      keyPaddingMask: masks.tgtKeyPaddingMask ?? null,
      isCausal: masks.tgtIsCausal ?? false,
      needWeights: false,
    });
    return this.dropout1.call(output);
  }

  private attendMemory(x: Tensor, memory: Tensor, masks: DecoderMasks): Tensor {
    const [output] = this.multihead_attn.call(x, memory, memory, {
      attnMask: masks.memoryMask ?? null,
      keyPaddingMask: masks.memoryKeyPaddingMask ?? null,
      isCausal: masks.memoryIsCausal ?? false,
      needWeights: false,
    });
    return this.dropout2.call(output);
  }

  private feedForward(x: Tensor): Tensor {
    const inner = this.dropout.call(this.activation(this.linear1.call(x)));
    return this.dropout3.call(this.linear2.call(inner));
  }
}
