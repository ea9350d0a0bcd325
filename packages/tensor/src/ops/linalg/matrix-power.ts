/**
 * @file Integer powers of square matrices.
 */
import { callOp } from '../../dispatch/dispatcher.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { withOverloads } from '../../op/with-overloads.js';
import type { Tensor } from '../../tensor.js';
import { clone, copy_ } from '../arrange/copy.js';
import { eye } from '../factory/range.js';
import { matmul } from '../matmul/composite.js';
import { inv } from './inverse.js';
import { checkSquare } from './shape.js';

/** By repeated squaring: as many products as there are binary digits, and one more for each that is 1. */
function power(x: Tensor, n: number): Tensor {
  if (n === 0) {
    const one = eye(x.sizes.at(-1)!, null, { dtype: x.dtype, device: x.device });
    // Written over x, whose gradient is 0 rather than none.
    return copy_(clone(x, { memoryFormat: 'contiguous' }), one);
  }
  if (n === 1) return clone(x);
  let square = x;
  let result: Tensor | null = null;
  for (let rest = n; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) result = result === null ? square : matmul(result, square);
    if (rest > 1) square = matmul(square, square);
  }
  return result!;
}

const powerOp: OpOverload<Tensor> = withOverloads(
  defineOp('aten::linalg_matrix_power(Tensor self, int n) -> Tensor', {
    decompose: ({ self: x, n: exponent }) => {
      checkSquare('linalg.matrix_power', x);
      return exponent < 0 ? power(inv(x), -exponent) : power(x, exponent);
    },
  }),
  defineOp('aten::matrix_power(Tensor self, int n) -> Tensor', {
    decompose: ({ self, n }) => callOp(powerOp, [self, n]),
  }),
);

/** self multiplied n times, [.., N, N] → [.., N, N]; powers of the inverse for negative n. @throws linalg-error for singular matrices and negative n, shape-mismatch, invalid-dim, dtype-unsupported */
export function matrixPower(self: Tensor, n: number): Tensor {
  return callOp(powerOp, [self, n]);
}
