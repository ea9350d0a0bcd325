/**
 * @file The gradient of an embedding table: each row is the sum of the gradients at the positions that name it.
 */
import type { Size } from '@tessera/shared';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { position } from '../checked-value.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { readyOperand } from '../ready-operand.js';
import { accumulateDtype } from '../reduce.js';
import { isEmpty, numelOf } from '../shape-math.js';
import { countInSteps, sumsByKey } from '../sums-by-key.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';
import { reduceOver } from './distance.js';
import { reshapeTensor } from './view-maps.js';

/** embedding_dense_backward: grad_output, indices, num_weights, padding_idx, scale_grad_by_freq. */
const embeddingBackward: LoweringOf<'aten::embedding_dense_backward'> = (
  l,
  [g, index, numWeights, padding, scale],
  call,
) => {
  const rows = Number(numWeights);
  const columns = g.shape[g.shape.length - 1]!;
  const count = numelOf(index.shape);
  if (isEmpty([rows, columns, count])) return l.pointwise(call.shape, l.ir.const(call.dtype, 0));
  const at = readyOperand(l, reshapeTensor(l, readyOperand(l, index), [count]));
  const source = readyOperand(l, reshapeTensor(l, g, [count, columns]));
  const skip = Number(padding);
  const m = new ExprMath(l.ir);
  const acc = accumulateDtype(call.dtype);
  const key = (p: IndexExpr): Expr => at.load([p]);
  const uses = scale === true ? usesOfRows(l, at, rows) : null;
  const value = (p: IndexExpr, column: IndexExpr): Expr => {
    const given = m.cast(source.load([p, column]), acc);
    const its = key(p);
    const part =
      uses === null ? given : m.mul(given, m.div(1, uses.load([position(l, its, rows)])));
    return skip < 0 ? part : m.where(m.eq(its, skip), 0, part);
  };
  const op = 'embedding';
  return sumsByKey(l, {
    rows: count,
    columns,
    dtype: call.dtype,
    value,
    key,
    keys: rows,
    checkedBy: op,
  });
};

/** How often each row is named, as float32. */
export function usesOfRows(l: Lowering, given: LoweredTensor, rows: Size): LoweredTensor {
  const m = new ExprMath(l.ir);
  const count = numelOf(given.shape);
  const index = reshapeTensor(l, given, [count]);
  const counted = countInSteps(l, rows, count, (p) => index.load([p]));
  if (counted !== null) return l.pointwise([rows], m.cast(counted.expr, 'float32'));
  const own = l.vars([rows])[0]!;
  const uses = reduceOver(l, 'sum', [rows], count, (p) => {
    const its = index.load([p]);
    return m.cast(m.eq(its, l.ir.index(its.dtype, own)), 'float32');
  });
  return l.pointwise([rows], uses);
}

/** Lowerings by overload name. */
export const embeddingBackwardLowerings: LoweringTable = lowerings({
  'aten::embedding_dense_backward': embeddingBackward,
});
