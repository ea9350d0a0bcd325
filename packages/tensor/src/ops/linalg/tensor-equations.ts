/**
 * @file Linear equations between tensors of any number of dimensions, as equations of matrices.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { numelOf } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { movedim } from '../view/dims.js';
import { reshape } from '../view/view.js';
import { inv } from './inverse.js';
import { solve } from './solve.js';
import { checkTensors } from '../../check-tensors.js';

function refuse(code: 'invalid-argument' | 'shape-mismatch', text: string, hint: string): never {
  throw new TesseraError(code, text, { hints: [hint] });
}

const IND: OptionNames<{ readonly ind?: number }> = { ind: true };

/**
 * The inverse for `tensordot` over the first `ind` dimensions (default 2): sizes [...a, ...b] → [...b, ...a].
 *
 * @throws invalid-argument, shape-mismatch; linalg-error for singular ones
 * @see torch.linalg.tensorinv
 */
export function tensorinv(self: Tensor, options: { readonly ind?: number } = {}): Tensor {
  checkOptionNames('tensorinv', options, IND);
  checkTensors('tensorinv', { self });
  const { ind = 2 } = options;
  if (!(Number.isInteger(ind) && ind > 0))
    refuse(
      'invalid-argument',
      `Expected a strictly positive integer for 'ind', but got ${ind}`,
      'It is the number of dimensions of the result of the equation.',
    );
  const [first, last] = [self.sizes.slice(0, ind), self.sizes.slice(ind)];
  const [rows, columns] = [numelOf(first), numelOf(last)];
  if (rows !== columns)
    refuse(
      'shape-mismatch',
      `Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got ${columns} != ${rows}`,
      'Both parts of the sizes have as many elements.',
    );
  return reshape(inv(reshape(self, [columns, rows])), [...last, ...first]);
}

const DIMS: OptionNames<{ readonly dims?: readonly number[] | null }> = { dims: true };

/**
 * X with tensordot(self, X, X.ndim) = b: sizes [...b, ...x] and [...b] → [...x].
 *
 * @param options `dims` of self that are moved to the end first
 * @throws shape-mismatch; linalg-error for singular ones
 * @see torch.linalg.tensorsolve
 */
export function tensorsolve(
  self: Tensor,
  b: Tensor,
  options: { readonly dims?: readonly number[] | null } = {},
): Tensor {
  checkOptionNames('tensorsolve', options, DIMS);
  checkTensors('tensorsolve', { self, b });
  const dims = options.dims ?? [];
  const ends = dims.map((_, i) => self.ndim - dims.length + i);
  const a = dims.length === 0 ? self : movedim(self, [...dims], ends);
  const sizes = a.sizes.slice(b.ndim);
  const [rows, columns] = [numelOf(a.sizes.slice(0, b.ndim)), numelOf(sizes)];
  if (rows !== columns)
    refuse(
      'shape-mismatch',
      `Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got ${columns} != ${rows}`,
      'The sizes of b are the first of self; the others have as many elements.',
    );
  return reshape(solve(reshape(a, [columns, columns]), reshape(b, [columns])), sizes);
}
