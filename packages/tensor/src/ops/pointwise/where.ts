/**
 * @file `where`: elements of one operand or another. Operands may be numbers, so it is a function only.
 */
import { type ScalarLike, TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { isFloatingPoint } from '../../dtype.js';
import { checkFillValue } from '../../kernels/fill-value.js';
import { metaOfOperands, pointwiseKernel } from '../../kernels/pointwise-kernel.js';
import { defineOp } from '../../op/op-overload.js';
import { isTensor } from '../../tensor-factory.js';
import { resultType } from '../../type-promotion.js';
import type { Tensor } from '../../tensor.js';

const whereOp = defineOp(
  'aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor',
  {
    tags: ['pointwise'],
    meta: ({ condition, self, other }) => {
      // As in PyTorch, bytes are the booleans of old.
      if (condition.dtype !== 'bool' && condition.dtype !== 'uint8')
        throw new TesseraError(
          'dtype-mismatch',
          `where expected condition to be a boolean tensor, but got a tensor with dtype ${condition.dtype}`,
          { hints: ['Compare it: where(x.ne(0), …). As a method: x.where(condition, y).'] },
        );
      const dtype = resultType([self, other]);
      for (const value of [self, other])
        if (!isTensor(value) && !isFloatingPoint(dtype)) checkFillValue(value, dtype);
      return metaOfOperands([condition, self, other], dtype, 'where');
    },
    kernel: pointwiseKernel((condition, a, b) => (condition ? a : b), {
      operands: ['condition', 'self', 'other'],
    }),
    saved: ['condition'],
    vjp: ({ condition }, { grad }) => ({
      self: () => where(condition, grad, 0),
      other: () => where(condition, 0, grad),
    }),
  },
);

/** `self` where the condition holds, else `other`; all broadcast. @throws shape-mismatch, dtype-mismatch */
export function where(
  condition: Tensor,
  self: Tensor | ScalarLike,
  other: Tensor | ScalarLike,
): Tensor {
  return callOp(whereOp, [condition, self, other]);
}
