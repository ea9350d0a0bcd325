/**
 * @file Coordinates of places that are counted through a whole tensor.
 */
import { TesseraError } from '@tessera/shared';
import { DTYPES } from '../../dtype.js';
import type { Tensor } from '../../tensor.js';
import { tensor } from '../../create.js';
import { floorDivide, remainder } from '../pointwise/division.js';
import { unbind } from '../view/split.js';
import { unsqueeze } from '../view/dims.js';
import { checkTensors } from '../../check-tensors.js';

/**
 * Places in a tensor of `shape`, counted row by row, as one tensor of int64 for each of its dimensions, of the shape of
 * `indices`. What is outside is taken modulo the shape.
 *
 * @throws dtype-unsupported unless `indices` are integers; invalid-argument
 * @example unravelIndex(tensor([4, 1]), [3, 2]) // [tensor([2, 0]), tensor([0, 1])]
 * @see torch.unravel_index
 */
export function unravelIndex(indices: Tensor, shape: number | readonly number[]): Tensor[] {
  checkTensors('unravelIndex', { indices });
  if (DTYPES[indices.dtype].category !== 'integral')
    throw new TesseraError(
      'dtype-unsupported',
      `expected 'indices' to be integer dtype, but got torch.${indices.dtype}`,
      { hints: ["Convert them: indices.to('int64')."] },
    );
  const sizes = typeof shape === 'number' ? [shape] : shape;
  const refuse = (message: string): never => {
    throw new TesseraError('invalid-argument', message, {
      hints: ['shape is a list of whole numbers, one for each dimension.'],
    });
  };
  if (!Array.isArray(sizes) || !sizes.every((size) => Number.isInteger(size)))
    refuse(`expected 'shape' sequence to only contain ints, but got (${String(sizes)})`);
  if (sizes.some((size) => size < 0))
    refuse(`'shape' cannot have negative values, but got (${sizes.join(', ')})`);
  if (sizes.length === 0) return [];
  const steps = sizes.map((_, i) => sizes.slice(i + 1).reduce((a, b) => a * b, 1));
  const options = { dtype: 'int64', device: indices.device } as const;
  const places = floorDivide(unsqueeze(indices, -1), tensor(steps, options));
  return unbind(remainder(places, tensor([...sizes], options)), -1);
}
