/**
 * @file Derivatives of digamma. A function only: its first parameter is the order.
 */
import { callOp } from '../../dispatch/dispatcher.js';
import { TesseraError } from '@tessera/shared';
import { pointwiseWith } from '../../kernels/pointwise-kernel.js';
import { polygamma as polygammaOf } from '../../kernels/gamma-functions.js';
import { defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { mul } from './arithmetic.js';

const polygammaOp = defineOp(
  'aten::polygamma(int n, Tensor self) -> Tensor',
  pointwiseWith(
    ({ n, self }) => {
      const isDouble = self.dtype === 'float64';
      const round = isDouble ? (x: number): number => x : Math.fround;
      return (x) => polygammaOf(n, x!, round);
    },
    {
      operands: ['self'],
      result: 'float',
      saved: ['self'],
      vjp: ({ n, self }, { grad }) => ({
        self: () => mul(grad, polygamma(n + 1, self)),
      }),
    },
  ),
);

/** The n-th derivative of digamma; n = 0 is digamma itself. @throws invalid-argument for negative n */
export function polygamma(n: number, self: Tensor): Tensor {
  if (n < 0) {
    throw new TesseraError('invalid-argument', 'polygamma(n, x) does not support negative n.', {
      context: { n },
      hints: ['n counts derivatives: 0, 1, 2, …'],
    });
  }
  return callOp(polygammaOp, [n, self]);
}
