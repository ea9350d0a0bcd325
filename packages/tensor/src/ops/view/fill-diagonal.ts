/**
 * @file Filling the main diagonal in place.
 */
import { TesseraError, type ScalarLike, type OptionNames, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { fill_ } from '../pointwise/fill.js';
import { asStrided } from './strided.js';

const fillDiagonalInplace = defineOp(
  'aten::fill_diagonal_(Tensor(a!) self, Scalar fill_value, bool wrap=False) -> Tensor(a!)',
  {
    decompose: ({ self: x, fill_value, wrap }) => {
      if (x.ndim < 2)
        throw new TesseraError('invalid-dim', 'dimensions must larger than 1', {
          hints: ['A diagonal needs at least two dimensions.'],
        });
      if (x.ndim > 2 && x.sizes.some((size) => size !== x.sizes[0]))
        throw new TesseraError(
          'shape-mismatch',
          'all dimensions of input must be of equal length',
          { hints: ['Give a cube.'] },
        );
      const step = x.strides.reduce((a, b) => a + b, 0);
      const [rows, columns] = x.sizes;
      const fill = (length: number, from: number): void => {
        fill_(asStrided(x, [length], [step], x.storageOffset + from), fill_value);
      };
      fill(Math.min(...x.sizes), 0);
      // Begins again below each square of a tall matrix, a row further down.
      const period = columns + 1;
      if (wrap === true && x.ndim === 2)
        for (let row = period; row < rows && columns > 0; row += period)
          fill(Math.min(columns, rows - row), row * x.strides[0]!);
      return x;
    },
  },
);

const WRAP: OptionNames<{ wrap: boolean }> = { wrap: true };

/** Writes a number to the main diagonal; down tall matrices again and again if `wrap`. @throws invalid-dim, shape-mismatch */
export function fillDiagonal_(
  self: Tensor,
  fillValue: ScalarLike,
  options?: { readonly wrap?: boolean },
): Tensor {
  checkOptionNames('fillDiagonal_', options, WRAP);
  return callOp(fillDiagonalInplace, [self, fillValue, options?.wrap ?? false]);
}
