/**
 * @file `isin`: every element is compared with every test element.
 */
import type { Expr } from '../../ir/expr.js';
import { promoted } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import { LoweredTensor } from '../lowered-tensor.js';
import { reduce } from '../reduce.js';
import { RuntimeScalar } from '../registry.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

const isin: LoweringOf<
  'aten::isin.Tensor_Tensor' | 'aten::isin.Tensor_Scalar' | 'aten::isin.Scalar_Tensor'
> = (l, [elements, tests, , invert]) => {
  const operands = [elements, tests] as const;
  const dtype = promoted(operands);
  const own = elements instanceof LoweredTensor ? elements.shape : [];
  const wanted = tests instanceof LoweredTensor ? tests.shape : [];
  const sizes = [...own, ...wanted];
  const coords = l.vars(sizes);
  const at = (operand: (typeof operands)[number], from: number, to: number): Expr =>
    operand instanceof LoweredTensor
      ? l.ir.cast(operand.load(coords.slice(from, to)), dtype)
      : operand instanceof RuntimeScalar
        ? l.ir.cast(operand.expr, dtype)
        : l.ir.const(dtype, Number(operand));
  const m = new ExprMath(l.ir);
  const isEqual = m.eq(at(elements, 0, own.length), at(tests, own.length, sizes.length));
  const dims = wanted.map((_, d) => own.length + d);
  const [found] = reduce(l, 'any', l.pointwise(sizes, isEqual), dims, false);
  return invert === true ? l.pointwise(own, m.not(found!.expr)) : found!;
};

/** Lowerings by overload name. */
export const membershipLowerings: LoweringTable = lowerings({
  'aten::isin.Tensor_Tensor': isin,
  'aten::isin.Tensor_Scalar': isin,
  'aten::isin.Scalar_Tensor': isin,
});
