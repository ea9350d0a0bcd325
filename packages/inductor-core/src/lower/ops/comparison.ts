/**
 * @file Lowerings of comparisons, tests, logic, and choices made by them.
 */
import { type DType, isFloatingPoint } from '@tessera/tensor';
import type { ScalarOp } from '../../ir/expr.js';
import {
  type Operand,
  broadcastOperands,
  operandArg,
  operandExpr,
  promoted,
  scalarOp,
  tensorArg,
} from './elementwise.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { type LoweringFn } from '../registry.js';
import { overloads } from './pointwise.js';

function compare(op: ScalarOp): LoweringFn {
  return (l, [self, other], call) => {
    const operands = [operandArg(self!, call.op), operandArg(other!, call.op)];
    return scalarOp(l, op, operands, promoted(operands));
  };
}

function logical(op: 'and' | 'or' | 'xor'): LoweringFn {
  return (l, [self, other], call) =>
    scalarOp(l, op, [operandArg(self!, call.op), operandArg(other!, call.op)], 'bool');
}

const where: LoweringFn = (l, [condition, a, b], call) => {
  const cond = tensorArg(condition!, call.op);
  const operands = [cond, operandArg(a!, call.op), operandArg(b!, call.op)];
  return selectInto(l, operands, call.dtype, call.op);
};

/** `where(operands[0], operands[1], operands[2])` with the condition as bool. */
function selectInto(
  l: Lowering,
  operands: readonly Operand[],
  dtype: DType,
  op: string,
): LoweredTensor {
  const sizes = broadcastOperands(operands, op);
  const [cond, a, b] = operands as [Operand, Operand, Operand];
  return l.pointwise(
    sizes,
    l.ir.op('where', [
      operandExpr(l, cond, sizes, 'bool'),
      operandExpr(l, a, sizes, dtype),
      operandExpr(l, b, sizes, dtype),
    ]),
  );
}

const maskedFill: LoweringFn = (l, [self, mask, value], call) =>
  selectInto(
    l,
    [tensorArg(mask!, call.op), operandArg(value!, call.op), tensorArg(self!, call.op)],
    call.dtype,
    call.op,
  );

/** isnan and isinf look at the value in its own type. */
function classify(op: 'isnan' | 'isinf'): LoweringFn {
  return (l, [self], call) =>
    scalarOp(l, op, [tensorArg(self!, call.op)], tensorArg(self!, call.op).dtype);
}

/** Neither NaN nor infinite: x - x is 0. */
const isfinite: LoweringFn = (l, [self], call) => {
  const x = tensorArg(self!, call.op);
  if (!isFloatingPoint(x.dtype)) return l.pointwise(x.shape, l.ir.const('bool', 1));
  return l.pointwise(
    x.shape,
    l.ir.op('lt', [l.ir.op('abs', [x.expr]), l.ir.const(x.dtype, Infinity)]),
  );
};

const logicalNot: LoweringFn = (l, [self], call) =>
  scalarOp(l, 'not', [tensorArg(self!, call.op)], 'bool');

/** Lowerings by overload name. */
export const comparisonLowerings: Readonly<Record<string, LoweringFn>> = {
  ...overloads('eq', compare('eq')),
  ...overloads('ne', compare('ne')),
  ...overloads('lt', compare('lt')),
  ...overloads('le', compare('le')),
  ...overloads('gt', compare('gt')),
  ...overloads('ge', compare('ge')),
  'aten::isnan': classify('isnan'),
  'aten::isinf': classify('isinf'),
  'aten::isfinite': isfinite,
  'aten::logical_and': logical('and'),
  'aten::logical_or': logical('or'),
  'aten::logical_xor': logical('xor'),
  'aten::logical_not': logicalNot,
  ...overloads('where', where, ['.self', '.ScalarSelf', '.ScalarOther', '.Scalar']),
  ...overloads('masked_fill', maskedFill, ['.Scalar', '.Tensor']),
};
