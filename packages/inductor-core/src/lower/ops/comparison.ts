/**
 * @file Lowerings of comparisons, tests, logic, and choices made by them.
 */
import { type DType, isFloatingPoint } from '@tessera/tensor';
import type { ScalarOp } from '../../ir/expr.js';
import {
  broadcastOperands,
  operandArg,
  operandExpr,
  promoted,
  scalarOp,
  tensorArg,
} from './elementwise.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import type { LoweringFn } from '../registry.js';
import { BOTH, overloads } from './pointwise.js';
import { type LoweringOf, type LoweringTable, lowerings, type Operand } from '../typed-lowering.js';

function compare(op: ScalarOp): LoweringFn {
  return (l, [self, other], call) => {
    const operands = [operandArg(self!, call.op), operandArg(other!, call.op)];
    return scalarOp(l, op, operands, promoted(operands));
  };
}

function logical(
  op: 'and' | 'or' | 'xor',
): LoweringOf<'aten::logical_and' | 'aten::logical_or' | 'aten::logical_xor'> {
  return (l, [self, other]) => scalarOp(l, op, [self, other], 'bool');
}

const where: LoweringOf<'aten::where.self'> = (l, [condition, a, b], call) =>
  selectInto(l, [tensorArg(condition, call.op), a, b], call.dtype, call.op);

/** `where(operands[0], operands[1], operands[2])` with the condition as bool. */
function selectInto(
  l: Lowering,
  operands: readonly [condition: Operand, a: Operand, b: Operand],
  dtype: DType,
  op: string,
): LoweredTensor {
  const sizes = broadcastOperands(operands, op);
  const [cond, a, b] = operands;
  return l.pointwise(
    sizes,
    l.ir.op('where', [
      operandExpr(l, cond, sizes, 'bool'),
      operandExpr(l, a, sizes, dtype),
      operandExpr(l, b, sizes, dtype),
    ]),
  );
}

const maskedFill: LoweringOf<'aten::masked_fill.Scalar' | 'aten::masked_fill.Tensor'> = (
  l,
  [self, mask, value],
  call,
) =>
  selectInto(l, [tensorArg(mask, call.op), value, tensorArg(self, call.op)], call.dtype, call.op);

/** isnan and isinf look at the value in its own type. */
function classify(op: 'isnan' | 'isinf'): LoweringOf<'aten::isnan' | 'aten::isinf'> {
  return (l, [self], call) =>
    scalarOp(l, op, [tensorArg(self, call.op)], tensorArg(self, call.op).dtype);
}

/** Neither NaN nor infinite: x - x is 0. */
const isfinite: LoweringOf<'aten::isfinite'> = (l, [self], call) => {
  const x = tensorArg(self, call.op);
  if (!isFloatingPoint(x.dtype)) return l.pointwise(x.shape, l.ir.const('bool', 1));
  return l.pointwise(
    x.shape,
    l.ir.op('lt', [l.ir.op('abs', [x.expr]), l.ir.const(x.dtype, Infinity)]),
  );
};

const logicalNot: LoweringOf<'aten::logical_not'> = (l, [self], call) =>
  scalarOp(l, 'not', [tensorArg(self, call.op)], 'bool');

/** Lowerings by overload name. */
export const comparisonLowerings: LoweringTable = lowerings({
  ...overloads('eq', compare('eq'), BOTH),
  ...overloads('ne', compare('ne'), BOTH),
  ...overloads('lt', compare('lt'), BOTH),
  ...overloads('le', compare('le'), BOTH),
  ...overloads('gt', compare('gt'), BOTH),
  ...overloads('ge', compare('ge'), BOTH),
  'aten::isnan': classify('isnan'),
  'aten::isinf': classify('isinf'),
  'aten::isfinite': isfinite,
  'aten::logical_and': logical('and'),
  'aten::logical_or': logical('or'),
  'aten::logical_xor': logical('xor'),
  'aten::logical_not': logicalNot,
  'aten::where.self': where,
  ...overloads('masked_fill', maskedFill, ['.Scalar', '.Tensor']),
});
