/**
 * @file Searches in sorted sequences: the position of a value is the number of elements before it.
 *
 * Counting them all costs the length of the sequence per value but needs no branches; long sequences go to
 * the reference kernel's bisection where there is one.
 */
import { readyOperand } from '../ready-operand.js';
import { type DType, isFloatingPoint } from '@tessera/tensor';
import { numelOf } from '@tessera/tensor/internal';
import type { IndexExpr } from '../../ir/index-expr.js';
import { position } from '../checked-value.js';
import { operandArg, operandExpr } from './elementwise.js';
import { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { reducePlan } from '../reduce.js';
import { type LoweredArg, type LoweringCall, RuntimeScalar } from '../registry.js';
import { type LoweringOf, type LoweringTable, lowerings, type Operand } from '../typed-lowering.js';

/** Comparisons beyond which bisection is faster. */
const MOST_COMPARISONS = 2 ** 22;

/** A number that is not whole is not rounded to the integers it is looked for among. */
function comparedType(dtype: DType, operand: Operand): DType {
  if (operand instanceof LoweredTensor || isFloatingPoint(dtype)) return dtype;
  const isWhole =
    operand instanceof RuntimeScalar
      ? !isFloatingPoint(operand.expr.dtype)
      : Number.isSafeInteger(Number(operand));
  return isWhole ? dtype : 'float32';
}

function search(
  l: Lowering,
  sequence: LoweredTensor,
  values: LoweredArg,
  right: boolean,
  sorter: LoweredArg,
  call: LoweringCall,
): LoweredTensor | null {
  const length = sequence.sizes[sequence.sizes.length - 1]!;
  if (l.hasFallback && numelOf(call.sizes) * length > MOST_COMPARISONS) return null;
  const sorted = readyOperand(l, sequence);
  const order = sorter instanceof LoweredTensor ? readyOperand(l, sorter) : null;
  const vars = l.vars(call.sizes);
  const at = l.freshVar('e', length);
  const row: IndexExpr[] = sequence.sizes.length === 1 ? [] : vars.slice(0, -1);
  const place = order === null ? at.index : position(l, order.load([...row, at.index]), length);
  const operand = operandArg(values!, call.op);
  const type = comparedType(sequence.dtype, operand);
  const element = l.ir.cast(sorted.load([...row, place]), type);
  const value = operandExpr(l, operand, call.sizes, type);
  // NaN goes last, as an element and as a value.
  const isBefore = l.ir.op(right ? 'le' : 'lt', [element, value]);
  const counted = isFloatingPoint(type)
    ? l.ir.op('or', [isBefore, l.ir.op('isnan', [value])])
    : isBefore;
  const [count] = reducePlan(l, {
    op: 'sum',
    dtype: 'int32',
    sizes: call.sizes,
    inner: at.vars,
    order: [...l.loopVars(call.sizes), ...at.vars],
    value: l.ir.cast(counted, 'int32'),
  });
  return l.pointwise(call.sizes, l.ir.cast(count!.expr, call.dtype));
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
