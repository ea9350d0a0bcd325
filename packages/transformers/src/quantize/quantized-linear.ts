/**
 * @file `QuantizedLinear`: a linear map whose weight has 8 or 4 bits an element.
 */
import { type Linear, Module, type Parameter } from '@tessera/nn';
import { type Tensor, empty } from '@tessera/tensor';
import { weightInt4packMm, weightInt8packMm } from '@tessera/tensor/internal';
import { type PackedWeight, type QuantizeFormat, packWeight } from './pack-weight.js';

/** See the file header. The weight is a buffer: it does not train, and gradients flow through it. */
export class QuantizedLinear extends Module {
  /** int32 words, [out, ⌈in · bits / 32⌉]. */
  declare readonly weight: Tensor;
  /** float32: [out] for 8 bits, [in / group, out, 2] for 4. */
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
  static like(
    { inFeatures, outFeatures, bias, weight }: Linear,
    format: QuantizeFormat,
  ): QuantizedLinear {
    const device = weight.device;
    const columns = Math.ceil((inFeatures * format.bits) / 32);
    const sizes = format.bits === 8 ? [outFeatures] : [inFeatures / format.group, outFeatures, 2];
    return new QuantizedLinear(inFeatures, outFeatures, format, bias, {
      words: empty([outFeatures, columns], { dtype: 'int32', device }),
      scales: empty(sizes, { device }),
    });
  }

  /** Bytes of weight and scales. */
  get weightBytes(): number {
    return 4 * (this.weight.numel + this.scales.numel);
  }

  /** […, in] → […, out] */
  override forward(input: Tensor): Tensor {
    const { format, weight, scales, bias } = this;
    const rows = input.reshape([-1, this.inFeatures]);
    const product =
      format.bits === 8
        ? weightInt8packMm(rows, weight, scales)
        : weightInt4packMm(rows, weight, format.group, scales);
    const y = product.reshape([...input.sizes.slice(0, -1), this.outFeatures]);
    return bias === null ? y : y.add(bias);
  }

  override extraRepr(): string {
    const { bits } = this.format;
    const group = this.format.bits === 4 ? `, group=${this.format.group}` : '';
    return `in_features=${this.inFeatures}, out_features=${this.outFeatures}, bits=${bits}${group}`;
  }
}
