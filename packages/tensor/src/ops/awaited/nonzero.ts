/**
 * @file Awaited forms of `nonzero`: on devices that are read asynchronously, one number is.
 */
import type { Tensor } from '../../tensor.js';
import { empty } from '../factory/factory.js';
import { stack } from '../arrange/join.js';
import { nonzero } from '../indexing/nonzero.js';
import { floorDivide, remainder } from '../pointwise/division.js';
import { contiguousStrides } from '../../shape.js';
import { t, unsqueeze } from '../view/dims.js';
import { unbind } from '../view/split.js';
import { lastCount, placesOf, runningCount } from './running-count.js';
import { checkTensors } from '../../check-tensors.js';

/**
 * Positions of the non-zero elements of a tensor on any device, one row of `ndim` indices each: int64 [count, ndim].
 * Elsewhere than on `cpu` one number is read.
 *
 * @see torch.nonzero
 * @example const rows = await nonzeroAsync(x.gt(0));
 */
export async function nonzeroAsync(self: Tensor): Promise<Tensor> {
  checkTensors('nonzeroAsync', { self });
  if (self.device === 'cpu') return nonzero(self);
  const { sizes, device } = self;
  const running = runningCount(self);
  const count = await lastCount(running);
  if (sizes.length === 0 || count === 0)
    return empty([count, sizes.length], { dtype: 'int64', device });
  const places = placesOf(running, count);
  const strides = contiguousStrides(sizes);
  // One column per dimension, each contiguous.
  const columns = sizes.map((size, d) => {
    const whole = strides[d] === 1 ? places : floorDivide(places, strides[d]!);
    return d === 0 ? whole : remainder(whole, size);
  });
  return t(stack(columns));
}

/** Positions of the non-zero elements, as `nonzeroAsync`. */
export function argwhereAsync(self: Tensor): Promise<Tensor> {
  return nonzeroAsync(self);
}

/** Positions of the non-zero elements on any device, one vector per dimension. @see torch.nonzero(as_tuple=True) */
export async function nonzeroNumpyAsync(self: Tensor): Promise<Tensor[]> {
  checkTensors('nonzeroNumpyAsync', { self });
  return unbind(await nonzeroAsync(self.ndim === 0 ? unsqueeze(self, 0) : self), 1);
}
