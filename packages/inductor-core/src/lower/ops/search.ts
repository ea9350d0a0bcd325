/**
 * @file Searches in sorted sequences: the position of a value is the number of elements before it.
 *
 * Short sequences are counted: no branches, and all reads at once. Long ones are bisected, in steps that are written
 * out, so code is for lengths between two powers of two. Where there is a reference kernel, sequences of a length that
 * is not known are counted too, and left to it if that were many comparisons.
 */
import { readyOperand } from '../ready-operand.js';
import { type Size, sizeMul } from '@tessera/shared';
import { type DType, isFloatingPoint } from '@tessera/tensor';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { isLarger, numelOf } from '../shape-math.js';
import { checkedIndices, position } from '../checked-value.js';
import { operandArg, operandExpr } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { reducePlan } from '../reduce.js';
import { type LoweredArg, type LoweringCall, RuntimeScalar } from '../registry.js';
import { type LoweringOf, type LoweringTable, lowerings, type Operand } from '../typed-lowering.js';

/** Comparisons beyond which the reference kernel is faster than counting. */
const MOST_COMPARISONS = 2 ** 22;
/** Longest sequences of which all elements are counted where they could be bisected: by threads, and by vectors. */
const LONGEST_COUNTED = 16;
const LONGEST_COUNTED_BY_VECTORS = 64;

/** A number that is not whole is not rounded to the integers it is looked for among. */
function comparedType(dtype: DType, operand: Operand): DType {
  if (operand instanceof LoweredTensor || isFloatingPoint(dtype)) return dtype;
  const isWhole =
    operand instanceof RuntimeScalar
      ? !isFloatingPoint(operand.expr.dtype)
      : Number.isSafeInteger(Number(operand));
  return isWhole ? dtype : 'float32';
}

/** How many elements of sorted rows go before each value; null where the reference kernel is faster. */
export function search(
  l: Lowering,
  sequence: LoweredTensor,
  values: LoweredArg,
  right: boolean,
  sorter: LoweredArg,
  call: LoweringCall,
): LoweredTensor | null {
  const length = sequence.shape.at(-1)!;
  const countsAll = l.hasFallback && typeof length !== 'number';
  if (countsAll && isLarger(sizeMul(numelOf(call.shape), length), MOST_COMPARISONS)) return null;
  const sorted = readyOperand(l, sequence);
  const order =
    sorter instanceof LoweredTensor
      ? readyOperand(l, checkedIndices(l, 'searchsorted', sorter, length))
      : null;
  const vars = l.vars(call.shape);
  const row: IndexExpr[] = sequence.shape.length === 1 ? [] : vars.slice(0, -1);
  const operand = operandArg(values!, call.op);
  const type = comparedType(sequence.dtype, operand);
  const value = operandExpr(l, operand, call.shape, type);
  const isBefore = (at: IndexExpr): Expr => {
    const place = order === null ? at : position(l, order.load([...row, at]), length);
    const element = l.ir.cast(sorted.load([...row, place]), type);
    const before = l.ir.op(right ? 'le' : 'lt', [element, value]);
    // NaN goes last, as an element and as a value.
    return isFloatingPoint(type) ? l.ir.op('or', [before, l.ir.op('isnan', [value])]) : before;
  };
  const longest = l.hasFallback ? LONGEST_COUNTED_BY_VECTORS : LONGEST_COUNTED;
  const count =
    countsAll || !isLarger(length, longest)
      ? counted(l, call, length, isBefore)
      : bisected(l, length, isBefore);
  return l.pointwise(call.shape, l.ir.cast(count, call.dtype));
}

/** How many elements are before the value. */
function counted(
  l: Lowering,
  call: LoweringCall,
  length: Size,
  isBefore: (at: IndexExpr) => Expr,
): Expr {
  const at = l.freshVar('e', length);
  return reducePlan(l, {
    op: 'sum',
    dtype: 'int32',
    sizes: call.shape,
    inner: at.vars,
    order: [...l.loopVars(call.shape), ...at.vars],
    value: l.ir.cast(isBefore(at.index), 'int32'),
  })[0]!.expr;
}

/** The same where those before it come first. */
function bisected(l: Lowering, length: Size, isBefore: (at: IndexExpr) => Expr): Expr {
  const m = new ExprMath(l.ir);
  let count: Expr = l.ir.const('int32', 0);
  let step = 1;
  while (isLarger(length, 2 * step - 1)) step *= 2;
  for (; step >= 1; step /= 2) {
    const more = m.add(count, step);
    const last = position(l, m.sub(more, 1), length);
    count = m.where(m.and(m.le(more, length), isBefore(last)), more, count);
  }
  return count;
}

/** searchsorted: sorted_sequence, self, out_int32, right, side, sorter. */
const searchsorted: LoweringOf<'aten::searchsorted.Tensor' | 'aten::searchsorted.Scalar'> = (
  l,
  [sequence, self, , right, side, sorter],
  call,
) => search(l, sequence, self, right === true || side === 'right', sorter, call);

/** bucketize: self, boundaries, out_int32, right. */
const bucketize: LoweringOf<'aten::bucketize.Tensor' | 'aten::bucketize.Scalar'> = (
  l,
  [self, boundaries, , right],
  call,
) => search(l, boundaries, self, right === true, null, call);

/** Lowerings by overload name. */
export const searchLowerings: LoweringTable = lowerings({
  'aten::searchsorted.Tensor': searchsorted,
  'aten::searchsorted.Scalar': searchsorted,
  'aten::bucketize.Tensor': bucketize,
  'aten::bucketize.Scalar': bucketize,
});
