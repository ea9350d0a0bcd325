/**
 * @file `.Scalar` overloads of arithmetic, for graphs that name them: they decompose into the `.Tensor`
 * ones, which take numbers too.
 */
import type { ScalarLike } from '@tessera/shared';
import { callOp } from '../dispatch/dispatcher.js';
import type { Tensor } from '../tensor.js';
import { type OpOverload, defineOp } from './op-overload.js';

/** The overload for numbers, in terms of the one for tensors, functional and in place. */
export function defineScalarOverload(
  name: string,
  op: OpOverload<Tensor>,
  inplace: OpOverload<Tensor>,
  tail: '' | ', Scalar alpha=1' = '',
): OpOverload<Tensor> {
  const decomposed =
    (target: OpOverload<Tensor>) =>
    (args: { self: Tensor; other: ScalarLike; alpha?: ScalarLike }): Tensor =>
      callOp(target, tail === '' ? [args.self, args.other] : [args.self, args.other, args.alpha]);
  const scalar = defineOp(`aten::${name}.Scalar(Tensor self, Scalar other${tail}) -> Tensor`, {
    decompose: decomposed(op),
  });
  defineOp(`aten::${name}_.Scalar(Tensor(a!) self, Scalar other${tail}) -> Tensor(a!)`, {
    decompose: decomposed(inplace),
  });
  return scalar;
}
