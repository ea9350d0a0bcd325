/**
 * @file Initialisers that fill a tensor without looking at its shape.
 *
 * All initialisers write in place and record no history. The same `manualSeed` gives the same values
 * on every device (PyTorch's values differ: its generator is another one).
 */
import { type Tensor, fill_, fromTypedArray, noGrad, philoxNormal, philoxUniform, reserveOffsets, zero_ } from '@tessera/tensor';

/** Fills a tensor with numbers drawn for each element. */
function draw(tensor: Tensor, numberAt: (seed: number, offset: number, index: number) => number): Tensor {
  const { seed, offset } = reserveOffsets(1);
  const values = Float64Array.from({ length: tensor.numel }, (_, index) => numberAt(seed, offset, index));
  return noGrad(() => tensor.copy_(fromTypedArray(values, tensor.sizes, { dtype: tensor.dtype, device: tensor.device })));
}

/** Uniform in [from, to). */
export function uniform_(tensor: Tensor, from = 0, to = 1): Tensor {
  return draw(tensor, (seed, offset, index) => from + (to - from) * philoxUniform(seed, offset, index));
}

/** Normal with a mean and a standard deviation. */
export function normal_(tensor: Tensor, mean = 0, std = 1): Tensor {
  return draw(tensor, (seed, offset, index) => mean + std * philoxNormal(seed, offset, index));
}

/** One number everywhere. */
export function constant_(tensor: Tensor, value: number): Tensor {
  return noGrad(() => fill_(tensor, value));
}

/** Zeros. */
export function zeros_(tensor: Tensor): Tensor {
  return noGrad(() => zero_(tensor));
}

/** Ones. */
export function ones_(tensor: Tensor): Tensor {
  return constant_(tensor, 1);
}
