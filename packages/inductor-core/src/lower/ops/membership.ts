/**
 * @file `isin`: every element is compared with every test element.
 */
import type { Expr } from '../../ir/expr.js';
import { operandArg, promoted } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import { LoweredTensor } from '../lowered-tensor.js';
import { reduce } from '../reduce.js';
import { type LoweringFn, RuntimeScalar } from '../registry.js';

const isin: LoweringFn = (l, [elements, tests, , invert], call) => {
  const operands = [operandArg(elements!, call.op), operandArg(tests!, call.op)];
  const dtype = promoted(operands);
  const [own, wanted] = operands.map((operand) =>
    operand instanceof LoweredTensor ? operand.shape : [],
  ) as [readonly number[], readonly number[]];
  const sizes = [...own, ...wanted];
  const coords = l.vars(sizes);
  const at = (operand: (typeof operands)[number], from: number, to: number): Expr =>
    operand instanceof LoweredTensor
      ? l.ir.cast(operand.load(coords.slice(from, to)), dtype)
      : operand instanceof RuntimeScalar
        ? l.ir.cast(operand.expr, dtype)
        : l.ir.const(dtype, Number(operand));
  const m = new ExprMath(l.ir);
  const isEqual = m.eq(at(operands[0]!, 0, own.length), at(operands[1]!, own.length, sizes.length));
  const dims = wanted.map((_, d) => own.length + d);
  const [found] = reduce(l, 'any', l.pointwise(sizes, isEqual), dims, false);
  return invert === true ? l.pointwise(own, m.not(found!.expr)) : found!;
};

/** Lowerings by overload name. */
export const membershipLowerings: Readonly<Record<string, LoweringFn>> = {
  'aten::isin.Tensor_Tensor': isin,
  'aten::isin.Tensor_Scalar': isin,
  'aten::isin.Scalar_Tensor': isin,
};
