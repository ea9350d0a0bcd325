/**
 * @file Initialisers that fill a tensor without looking at its shape.
 *
 * All initialisers write in place and record no history. The same `manualSeed` gives the same values
 * on every device (PyTorch's values differ: its generator is another one).
 */
import { type Tensor, noGrad } from '@tessera/tensor';
import {
  normal_ as drawNormal,
  uniform_ as drawUniform,
  fill_,
  zero_,
} from '@tessera/tensor/internal';

/** Uniform in [from, to). */
export function uniform_(tensor: Tensor, from = 0, to = 1): Tensor {
  return noGrad(() => drawUniform(tensor, from, to));
}

/** Normal with a mean and a standard deviation. */
export function normal_(tensor: Tensor, mean = 0, std = 1): Tensor {
  return noGrad(() => drawNormal(tensor, mean, std));
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
