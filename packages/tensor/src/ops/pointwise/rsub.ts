/**
 * @file `rsub`: subtraction with its operands exchanged. A function only, as in PyTorch.
 */
import type { ScalarLike } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { refuseBools } from '../../kernels/refuse-bools.js';
import { defineOp } from '../../op/op-overload.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { add, mul, neg, sub } from './arithmetic.js';

const rsubOp = defineOp(
  'aten::rsub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor',
  { decompose: ({ self, other, alpha }) => sub(other, self, { alpha }) },
);

const rsubScalarOp = defineOp(
  'aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor',
  {
    decompose: ({ self, other, alpha }) => {
      refuseBools(self, other);
      return add(neg(alpha === 1 ? self : mul(self, alpha)), other);
    },
  },
);

/** other - alpha · self. @throws shape-mismatch */
export function rsub(
  self: Tensor,
  other: Tensor | ScalarLike,
  options: { alpha?: ScalarLike } = {},
): Tensor {
  return callOp(isTensor(other) ? rsubOp : rsubScalarOp, [self, other, options.alpha ?? 1]);
}
