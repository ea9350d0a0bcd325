/**
 * @file Distances between all rows of matrices: a norm of differences per pair, reduced over the coordinates.
 */
import { readyOperand } from '../ready-operand.js';
import type { Size } from '@tessera/shared';
import type { Expr, ReduceOp } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { contract } from './contract.js';
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
  const batch = vars.slice(0, -2);
  const read = rowReader(l, call);
  return norms(l, call, left.shape.at(-1)!, Number(p), (k) =>
    m.sub(read(left, batch, vars.at(-2)!, k), read(right, batch, vars.at(-1)!, k)),
  );
};

/** Reads [..., row, k] of points whose leading dimensions broadcast to those of the result. */
function rowReader(l: Lowering, { shape, dtype }: LoweringCall) {
  const lead = shape.slice(0, -2);
  return (x: LoweredTensor, batch: readonly IndexExpr[], row: IndexExpr, k: IndexExpr): Expr =>
    l.ir.cast(
      x.load([...broadcastCoords(l, x.shape.slice(0, -2), lead, batch), row, k]),
      accumulateDtype(dtype),
    );
}

/** _euclidean_dist: x1, x2. The root of |a|² - 2 a·b + |b|², as PyTorch computes it of many rows: a matrix product. */
const euclidean: LoweringOf<'aten::_euclidean_dist'> = (l, [x1, x2], call) => {
  const { shape } = call;
  const [left, right] = [readyOperand(l, x1), readyOperand(l, x2)];
  const width = left.shape.at(-1)!;
  if (isSame(width, 0) || isEmpty(shape)) return l.pointwise(shape, l.ir.const(call.dtype, 0));
  const m = new ExprMath(l.ir);
  const read = rowReader(l, call);
  const vars = l.vars(shape);
  const product = contract(l, {
    shape: { batch: shape.slice(0, -2), m: [shape.at(-2)!], n: [shape.at(-1)!], k: [width] },
    a: (batch, [row], [k]) => read(left, batch, row!, k!),
    b: (batch, [k], [row]) => read(right, batch, row!, k!),
    sizes: shape,
    dtype: accumulateDtype(call.dtype),
    layout: null,
    coords: (at) => [...at.batch, ...at.m, ...at.n],
    decode: (at) => ({ batch: at.slice(0, -2), m: [at.at(-2)!], n: [at.at(-1)!] }),
  });
  /** |row|² of the points. */
  const squares = (x: LoweredTensor, row: IndexExpr): Expr => {
    const lead = x.shape.slice(0, -1);
    const own = l.vars(lead);
    const sum = reduceOver(l, 'sum', lead, width, (k) =>
      m.square(m.cast(x.load([...own, k]), product.dtype)),
    );
    const batch = broadcastCoords(l, lead.slice(0, -1), shape.slice(0, -2), vars.slice(0, -2));
    return l.pointwise(lead, sum).load([...batch, row]);
  };
  const both = m.add(squares(left, vars.at(-2)!), squares(right, vars.at(-1)!));
  const total = m.sub(both, m.mul(product.expr, 2));
  return l.pointwise(shape, m.cast(m.sqrt(m.max(total, 0)), call.dtype));
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
  'aten::_euclidean_dist': euclidean,
  'aten::_pdist_forward': withinSet,
});
