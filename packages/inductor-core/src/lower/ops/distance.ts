/**
 * @file Distances between all rows of matrices: a norm of differences per pair, reduced over the coordinates.
 */
import { readyOperand } from '../ready-operand.js';
import type { Size } from '@tessera/shared';
import type { Expr, ReduceOp } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { broadcastCoords } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { accumulateDtype, reducePlan } from '../reduce.js';
import type { LoweringCall } from '../registry.js';
import { type Shape, isEmpty, isSame } from '../shape-math.js';
import { upperCell } from './triangle.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** Reduces `value` over one fresh variable of `count` steps. */
export function reduceOver(
  l: Lowering,
  op: ReduceOp,
  sizes: Shape,
  count: Size,
  value: (step: IndexExpr) => Expr,
): Expr {
  const step = l.freshVar('k', count);
  const each = value(step.index);
  const order = [...l.loopVars(sizes), ...step.vars];
  return reducePlan(l, { op, dtype: each.dtype, sizes, inner: step.vars, order, value: each })[0]!
    .expr;
}

/** The p-norm of `width` terms, at each element of `sizes`. */
export function normOver(
  l: Lowering,
  sizes: Shape,
  width: Size,
  p: number,
  term: (coordinate: IndexExpr) => Expr,
): Expr {
  const m = new ExprMath(l.ir);
  const total = (op: ReduceOp, part: (value: Expr) => Expr): Expr =>
    reduceOver(l, op, sizes, width, (k) => part(term(k)));
  if (p === Infinity) return total('max', (d) => m.abs(d));
  if (p === 0) return total('sum', (d) => m.cast(m.ne(d, 0), d.dtype));
  if (p === 1) return total('sum', (d) => m.abs(d));
  if (p === 2) return m.sqrt(total('sum', (d) => m.square(d)));
  return m.pow(
    total('sum', (d) => m.pow(m.abs(d), p)),
    1 / p,
  );
}

/** p-norms of `width` differences, one for each element of the result. */
function norms(
  l: Lowering,
  call: LoweringCall,
  width: Size,
  p: number,
  difference: (coordinate: IndexExpr) => Expr,
): LoweredTensor {
  if (isSame(width, 0) || isEmpty(call.shape))
    return l.pointwise(call.shape, l.ir.const(call.dtype, 0));
  const size = normOver(l, call.shape, width, p, difference);
  return l.pointwise(call.shape, l.ir.cast(size, call.dtype));
}

/** _cdist_forward: x1, x2, p. */
const pairwise: LoweringOf<'aten::_cdist_forward'> = (l, [x1, x2, p], call) => {
  const m = new ExprMath(l.ir);
  const [left, right] = [readyOperand(l, x1), readyOperand(l, x2)];
  const vars = l.vars(call.shape);
  const batch = call.shape.slice(0, -2);
  const acc = accumulateDtype(call.dtype);
  const read = (x: LoweredTensor, row: IndexExpr, k: IndexExpr): Expr =>
    m.cast(
      x.load([...broadcastCoords(l, x.shape.slice(0, -2), batch, vars.slice(0, -2)), row, k]),
      acc,
    );
  return norms(l, call, left.shape.at(-1)!, Number(p), (k) =>
    m.sub(read(left, vars.at(-2)!, k), read(right, vars.at(-1)!, k)),
  );
};

/** _pdist_forward: self, p. */
const withinSet: LoweringOf<'aten::_pdist_forward'> = (l, [self, p], call) => {
  const m = new ExprMath(l.ir);
  const x = readyOperand(l, self);
  const [rows, width] = x.sizes;
  if (call.sizes[0] === 0) return l.pointwise(call.sizes, l.ir.const(call.dtype, 0));
  const { row, column } = upperCell(l, l.ir.index('int32', l.vars(call.sizes)[0]!), rows, rows, 1);
  const acc = accumulateDtype(call.dtype);
  const read = (at: Expr, k: IndexExpr): Expr =>
    m.cast(x.load([l.ir.value(m.min(m.max(at, 0), rows - 1)), k]), acc);
  return norms(l, call, width, Number(p ?? 2), (k) => m.sub(read(row, k), read(column, k)));
};

/** Lowerings by overload name. */
export const distanceLowerings: LoweringTable = lowerings({
  'aten::_cdist_forward': pairwise,
  'aten::_pdist_forward': withinSet,
});
