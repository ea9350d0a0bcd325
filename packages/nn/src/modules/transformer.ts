/**
 * @file `TransformerEncoder`, `TransformerDecoder` and the whole `Transformer`.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { type DeviceType, type DType, type Tensor, full, triu } from '@tessera/tensor';
import { xavierUniform_ } from '../init/kaiming.js';
import { cloneModule } from '../module/clone-module.js';
import { checkChild } from '../module/check-child.js';
import { checkNumbers, checkOptions } from '../module/check-options.js';
import { Module, type TensorModule } from '../module/module.js';
import { ModuleList } from './module-list.js';
import { LayerNorm } from './norm.js';
import {
  DECODER_MASKS,
  type DecoderMasks,
  type EncoderMasks,
  TransformerDecoderLayer,
  TransformerEncoderLayer,
  type TransformerLayerOptions,
} from './transformer-layer.js';
import { checkTensors } from '@tessera/tensor/internal';

/** Names of an encoder's masks. */
const ENCODER_MASKS: OptionNames<EncoderMasks> = {
  mask: true,
  srcKeyPaddingMask: true,
  isCausal: true,
};

/** Equal, independent layers. */
function copies<M extends Module>(
  { name }: { readonly name: string },
  layer: M,
  numLayers: number,
): ModuleList<M> {
  checkChild(name, 'layer', layer, `Write new ${name}(layer, numLayers).`);
  // The layer is one by now, and named here for the hint alone.
  checkNumbers({ name }, { layer: 0, numLayers });
  return new ModuleList(Array.from({ length: numLayers }, () => cloneModule(layer)));
}

/** Copies of an encoder layer, one after the other, and a norm if given. @see torch.nn.TransformerEncoder */
export class TransformerEncoder extends Module {
  layers: ModuleList<TransformerEncoderLayer>;
  norm: TensorModule | null;

  constructor(
    encoderLayer: TransformerEncoderLayer,
    readonly numLayers: number,
    norm: TensorModule | null = null,
  ) {
    super();
    this.layers = copies(new.target, encoderLayer, numLayers);
    this.norm = norm;
  }

  /** [T, N, E] → [T, N, E] @throws shape-mismatch, dtype-mismatch, invalid-argument */
  override forward(src: Tensor, masks: EncoderMasks = {}): Tensor {
    checkOptionNames('TransformerEncoder.call', masks, ENCODER_MASKS);
    let output = src;
    const { mask: srcMask, ...others } = masks;
    for (const layer of this.layers) output = layer.call(output, { srcMask, ...others });
    return this.norm === null ? output : this.norm.call(output);
  }
}

/** Copies of a decoder layer, one after the other, and a norm if given. @see torch.nn.TransformerDecoder */
export class TransformerDecoder extends Module {
  layers: ModuleList<TransformerDecoderLayer>;
  norm: TensorModule | null;

  constructor(
    decoderLayer: TransformerDecoderLayer,
    readonly numLayers: number,
    norm: TensorModule | null = null,
  ) {
    super();
    this.layers = copies(new.target, decoderLayer, numLayers);
    this.norm = norm;
  }

  /** [T, N, E], the encoder's [S, N, E] → [T, N, E] @throws shape-mismatch, dtype-mismatch, invalid-argument */
  override forward(tgt: Tensor, memory: Tensor, masks: DecoderMasks = {}): Tensor {
    checkOptionNames('TransformerDecoder.call', masks, DECODER_MASKS);
    let output = tgt;
    for (const layer of this.layers) output = layer.call(output, memory, masks);
    return this.norm === null ? output : this.norm.call(output);
  }
}

/** Options of `Transformer`. */
export interface TransformerOptions extends TransformerLayerOptions {
  /** Features (default 512). */
  readonly dModel?: number;
  /** Heads of every attention (default 8). */
  readonly nhead?: number;
  /** Default 6. */
  readonly numEncoderLayers?: number;
  /** Default 6. */
  readonly numDecoderLayers?: number;
}

/** Masks of a call of a transformer. */
export interface TransformerMasks extends DecoderMasks {
  /** [S, S] or [N · heads, S, S] */
  readonly srcMask?: Tensor | null;
  /** [N, S] */
  readonly srcKeyPaddingMask?: Tensor | null;
  /** Hint that `srcMask` is causal (default false). */
  readonly srcIsCausal?: boolean;
}

const TRANSFORMER_MASKS: OptionNames<TransformerMasks> = {
  srcMask: true,
  ...DECODER_MASKS,
  srcKeyPaddingMask: true,
  srcIsCausal: true,
};

/** An encoder and a decoder that reads its result. @see torch.nn.Transformer @see https://arxiv.org/abs/1706.03762 */
export class Transformer extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof TransformerOptions, true>> = {
    dModel: true,
    nhead: true,
    numEncoderLayers: true,
    numDecoderLayers: true,
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

  readonly dModel: number;
  readonly nhead: number;
  readonly batchFirst: boolean;
  encoder: TransformerEncoder;
  decoder: TransformerDecoder;

  /** @throws invalid-argument */
  constructor(options: TransformerOptions = {}) {
    super();
    checkOptions(new.target, options);
    const {
      dModel = 512,
      nhead = 8,
      numEncoderLayers = 6,
      numDecoderLayers = 6,
      ...layer
    } = options;
    const norm = (): LayerNorm =>
      new LayerNorm(dModel, {
        eps: layer.layerNormEps ?? 1e-5,
        bias: layer.bias ?? true,
        device: layer.device,
        dtype: layer.dtype,
      });
    this.dModel = dModel;
    this.nhead = nhead;
    this.batchFirst = layer.batchFirst ?? false;
    this.encoder = new TransformerEncoder(
      new TransformerEncoderLayer(dModel, nhead, layer),
      numEncoderLayers,
      norm(),
    );
    this.decoder = new TransformerDecoder(
      new TransformerDecoderLayer(dModel, nhead, layer),
      numDecoderLayers,
      norm(),
    );
    this.resetParameters();
  }

  /** Draws new matrices: Xavier-uniform. */
  resetParameters(): void {
    for (const parameter of this.parameters()) if (parameter.ndim > 1) xavierUniform_(parameter);
  }

  /** [S, N, E], [T, N, E] → [T, N, E] @throws shape-mismatch, dtype-mismatch, invalid-argument */
  override forward(src: Tensor, tgt: Tensor, masks: TransformerMasks = {}): Tensor {
    checkOptionNames('Transformer.call', masks, TRANSFORMER_MASKS);
    checkTensors('Transformer', { src, tgt });
    const batchDim = this.batchFirst ? 0 : 1;
    if (src.ndim === 3 && src.sizes[batchDim] !== tgt.sizes[batchDim])
      throw new TesseraError('shape-mismatch', 'the batch number of src and tgt must be equal', {
        hints: ['With batchFirst the batch is the first dimension, else the second.'],
      });
    if (src.sizes.at(-1) !== this.dModel || tgt.sizes.at(-1) !== this.dModel)
      throw new TesseraError(
        'shape-mismatch',
        'the feature number of src and tgt must be equal to dModel',
        { hints: [`Their last dimension must be ${this.dModel}.`] },
      );
    const { srcMask, srcKeyPaddingMask, srcIsCausal: isCausal, ...others } = masks;
    const memory = this.encoder.call(src, { mask: srcMask, srcKeyPaddingMask, isCausal });
    return this.decoder.call(tgt, memory, others);
  }

  /** [T, T] with -Infinity where a position would see a later one. */
  static generateSquareSubsequentMask(
    size: number,
    options: { readonly dtype?: DType; readonly device?: DeviceType } = {},
  ): Tensor {
    return triu(full([size, size], -Infinity, options), 1);
  }
}
