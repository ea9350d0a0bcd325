/**
 * @file `QuantizedLinear`: a linear map whose weight has 8 or 4 bits an element.
 */
import { type Linear, Module, type Parameter } from '@tessera/nn';
import type { Tensor } from '@tessera/tensor';
import { type PackedWeight, type QuantizeFormat, packWeight } from './pack-weight.js';
import {
  type PackedMatrix,
  emptyPacked,
  formatRepr,
  packedBytes,
  packedProduct,
} from './packed-matrix.js';

/** See the file header. The weight is a buffer: it does not train, and gradients flow through it. */
export class QuantizedLinear extends Module implements PackedMatrix {
  declare readonly weight: Tensor;
  declare readonly scales: Tensor;
  /** [out], or null. */
  readonly bias: Parameter | null;

  private constructor(
    readonly inFeatures: number,
    readonly outFeatures: number,
    readonly format: QuantizeFormat,
    bias: Parameter | null,
    { words, scales }: Omit<PackedWeight, 'error'>,
  ) {
    super();
    this.registerBuffer('weight', words);
    this.registerBuffer('scales', scales);
    this.bias = bias;
  }

  /** A linear map with its weight rounded, on the same device, and the error of that. It shares the bias. */
  static async of(
    linear: Linear,
    format: QuantizeFormat,
  ): Promise<{ module: QuantizedLinear; error: number }> {
    const { inFeatures, outFeatures, weight, bias } = linear;
    const { words, scales, error } = await packWeight(weight, format);
    const device = weight.device;
    const packed = { words: words.to(device), scales: scales.to(device) };
    const module = new QuantizedLinear(inFeatures, outFeatures, format, bias, packed);
    return { module: module.train(linear.training), error };
  }

  /** The same shape with nothing in it: for a state that is loaded. */
  static like(linear: Linear, format: QuantizeFormat): QuantizedLinear {
    const { inFeatures, outFeatures, bias, weight } = linear;
    const packed = emptyPacked([outFeatures, inFeatures], format, weight.device);
    const module = new QuantizedLinear(inFeatures, outFeatures, format, bias, packed);
    return module.train(linear.training);
  }

  get sizes(): readonly [number, number] {
    return [this.outFeatures, this.inFeatures];
  }

  /** Bytes of weight and scales. */
  get weightBytes(): number {
    return packedBytes(this);
  }

  /** […, in] → […, out] */
  override forward(input: Tensor): Tensor {
    const y = packedProduct(input, this);
    return this.bias === null ? y : y.add(this.bias);
  }

  override extraRepr(): string {
    return `in_features=${this.inFeatures}, out_features=${this.outFeatures}, ${formatRepr(this.format)}`;
  }
}
