/**
 * @file `LoraLinear`: a linear map that is frozen, with a product of two small matrices beside it that trains.
 *
 * @see https://arxiv.org/abs/2106.09685, and https://arxiv.org/abs/2305.14314 for one over a quantized weight
 */
import { Linear, Module } from '@tessera/nn';
import { TesseraError } from '@tessera/shared';
import { type Tensor, isFloatingPoint, noGrad } from '@tessera/tensor';
import { QuantizedLinear } from '../quantize/quantized-linear.js';

/** See the file header: `base(x) + alpha / rank · lora_B(lora_A(x))`. */
export class LoraLinear extends Module {
  /** [rank, in] */
  lora_A: Linear;
  /** [out, rank]; zero at first, so that nothing changes before training. */
  lora_B: Linear;
  private merged = false;

  constructor(
    readonly base: Linear | QuantizedLinear,
    readonly rank: number,
    readonly alpha: number,
  ) {
    super();
    const { inFeatures, outFeatures, weight } = base;
    const dtype = isFloatingPoint(weight.dtype) ? weight.dtype : 'float32';
    const options = { bias: false, dtype, device: weight.device };
    this.lora_A = new Linear(inFeatures, rank, options);
    this.lora_B = new Linear(rank, outFeatures, options);
    noGrad(() => this.lora_B.weight.zero_());
  }

  /** Whether the product is in the base's weight. */
  get isMerged(): boolean {
    return this.merged;
  }

  /** […, in] → […, out] */
  override forward(input: Tensor): Tensor {
    const y = this.base.call(input);
    if (this.merged) return y;
    const change = this.lora_B.call(this.lora_A.call(input));
    return y.add(change, { alpha: this.alpha / this.rank });
  }

  /** Adds the product to the base's weight, or takes it off again. @throws invalid-argument if that is quantized */
  merge(merged: boolean): void {
    if (merged === this.merged) return;
    const { base, lora_A: a, lora_B: b } = this;
    if (base instanceof QuantizedLinear)
      throw new TesseraError('invalid-argument', 'A quantized weight cannot take in a change.', {
        hints: ['Load the float model, add the adapter to it and merge there.'],
      });
    const scale = ((merged ? 1 : -1) * this.alpha) / this.rank;
    noGrad(() => base.weight.add_(b.weight.matmul(a.weight), { alpha: scale }));
    this.merged = merged;
  }

  override extraRepr(): string {
    return `rank=${this.rank}, alpha=${this.alpha}`;
  }
}
