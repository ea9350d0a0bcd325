/**
 * @file What complex numbers have and real ones answer trivially: conjugates, real parts. Real tensors
 * are returned as they are.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { type Unary, unaryFunction } from '../../op/op-functions.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { onesLike } from '../factory/like.js';

type IdentitySchema =
  | `${string}(Tensor self) -> Tensor`
  | `${string}(Tensor(a) self) -> Tensor(a)`
  | `${string}(Tensor(a!) self) -> Tensor(a!)`;

function identity(schema: IdentitySchema): OpOverload<Tensor> {
  return defineOp(`aten::${schema}`, { decompose: ({ self }) => self });
}

const realOp = identity('real(Tensor(a) self) -> Tensor(a)');
const resolveConjOp = identity('resolve_conj(Tensor(a) self) -> Tensor(a)');
const resolveNegOp = identity('resolve_neg(Tensor(a) self) -> Tensor(a)');
const conjPhysicalOp = identity('conj_physical(Tensor self) -> Tensor');
const conjPhysicalInplace = identity('conj_physical_(Tensor(a!) self) -> Tensor(a!)');

const positiveOp = defineOp('aten::positive(Tensor(a) self) -> Tensor(a)', {
  decompose: ({ self }) => {
    if (self.dtype === 'bool') {
      throw new TesseraError(
        'dtype-unsupported',
        'The `+` operator, on a bool tensor is not supported.',
        { hints: ["Convert it first: x.to('int64')."] },
      );
    }
    return self;
  },
});
const isrealOp = defineOp('aten::isreal(Tensor self) -> Tensor', {
  decompose: ({ self }) => onesLike(self, { dtype: 'bool' }),
});

/** The real part: real tensors themselves. */
export const real: Unary = unaryFunction(realOp);
/** The tensor without a lazy conjugation: real tensors themselves. */
export const resolveConj: Unary = unaryFunction(resolveConjOp);
/** The tensor without a lazy negation: real tensors themselves. */
export const resolveNeg: Unary = unaryFunction(resolveNegOp);
/** The conjugate: real tensors themselves. */
export const conjPhysical: Unary = unaryFunction(conjPhysicalOp);
/** self = its conjugate */
export const conjPhysical_: Unary = unaryFunction(conjPhysicalInplace);
/** Where self has no imaginary part: everywhere. */
export const isreal: Unary = unaryFunction(isrealOp);

/** +self: the tensor itself. @throws dtype-unsupported for bools */
export function positive(self: Tensor): Tensor {
  return callOp(positiveOp, [self]);
}
