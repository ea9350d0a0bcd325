/**
 * @file `QuantizedEmbedding`: a table of rows with 8 or 4 bits an element.
 */
import { type Embedding, Module } from '@tessera/nn';
import type { DType, Tensor } from '@tessera/tensor';
import { type PackedWeight, type QuantizeFormat, packWeight } from './pack-weight.js';
import {
  type PackedMatrix,
  emptyPacked,
  formatRepr,
  packedBytes,
  packedProduct,
  packedRows,
} from './packed-matrix.js';

/** See the file header. Only the rows that are looked up become floats. */
export class QuantizedEmbedding extends Module implements PackedMatrix {
  declare readonly weight: Tensor;
  declare readonly scales: Tensor;

  private constructor(
    readonly numEmbeddings: number,
    readonly embeddingDim: number,
    readonly format: QuantizeFormat,
    /** Of the rows that come out. */
    readonly dtype: DType,
    { words, scales }: Omit<PackedWeight, 'error'>,
  ) {
    super();
    this.registerBuffer('weight', words);
    this.registerBuffer('scales', scales);
  }

  /** A table rounded, on the same device, and the error of that. */
  static async of(
    table: Embedding,
    format: QuantizeFormat,
  ): Promise<{ module: QuantizedEmbedding; error: number }> {
    const { numEmbeddings, embeddingDim, weight } = table;
    const { words, scales, error } = await packWeight(weight, format);
    const { device, dtype } = weight;
    const packed = { words: words.to(device), scales: scales.to(device) };
    const module = new QuantizedEmbedding(numEmbeddings, embeddingDim, format, dtype, packed);
    return { module: module.train(table.training), error };
  }

  /** The same shape with nothing in it, whose rows come out in `dtype`: for a state that is loaded. */
  static like(
    table: Embedding,
    format: QuantizeFormat,
    dtype: DType = table.weight.dtype,
  ): QuantizedEmbedding {
    const { numEmbeddings, embeddingDim, weight } = table;
    const packed = emptyPacked([numEmbeddings, embeddingDim], format, weight.device);
    const module = new QuantizedEmbedding(numEmbeddings, embeddingDim, format, dtype, packed);
    return module.train(table.training);
  }

  get sizes(): readonly [number, number] {
    return [this.numEmbeddings, this.embeddingDim];
  }

  /** Bytes of weight and scales. */
  get weightBytes(): number {
    return packedBytes(this);
  }

  /** […] → […, embeddingDim]. @throws index-out-of-range */
  override forward(ids: Tensor): Tensor {
    return packedRows(ids, this).to(this.dtype);
  }

  /** How much each row is like x, […, embeddingDim] → […, numEmbeddings]: the last map of models with tied weights. */
  product(x: Tensor): Tensor {
    return packedProduct(x, this);
  }

  override extraRepr(): string {
    return `${this.numEmbeddings}, ${this.embeddingDim}, ${formatRepr(this.format)}`;
  }
}
