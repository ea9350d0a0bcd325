/**
 * @file The gradient of an embedding table: each row is the sum of the gradients at the positions that name it.
 *
 * A matrix product with a one-hot operand: no atomics, and the same sum every time. Of a table with many more rows than
 * there are positions most rows are named by none. There the product is of positions with positions, and a row takes the
 * sum at the last position that names it: with n rows, p positions and c columns, p² c products and n p comparisons
 * instead of n p c products.
 */
import { type Size, sizeHint, sizeMul } from '@tessera/shared';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { affordable } from '../affordable.js';
import { checkedPosition, position } from '../checked-value.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { readyOperand } from '../ready-operand.js';
import { sumInSteps } from '../put-in-steps.js';
import { accumulateDtype, reducePlan } from '../reduce.js';
import { isSame, numelOf } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';
import { contract } from './contract.js';
import { reshapeTensor } from './view-maps.js';

/** Products of the one-hot operand from which sums at positions pay. */
const MANY_PRODUCTS = 2 ** 24;

/** Rows as sums over positions: `named` says which row of the table row `r` of the result is of. */
interface RowSums {
  readonly rows: Size;
  readonly named: (r: IndexExpr) => Expr;
}

/** Σ over positions p of source[p, column] where index[p] is the row, but for the row `skip`. */
function oneHotSum(
  l: Lowering,
  { rows, named }: RowSums,
  index: LoweredTensor,
  source: LoweredTensor,
  skip: number | null,
): LoweredTensor {
  const [count, columns] = source.shape;
  const from = readyOperand(l, source);
  const m = new ExprMath(l.ir);
  const acc = accumulateDtype(source.dtype);
  return contract(l, {
    shape: { batch: [], m: [rows], n: [columns], k: [count] },
    a: (_, [row], [p]) => {
      const value = index.load([p!]);
      const own = m.eq(value, named(row!));
      return l.ir.cast(skip === null ? own : m.and(own, m.ne(value, skip)), acc);
    },
    b: (_, [p], [column]) => from.load([p!, column!]),
    sizes: [rows, columns],
    dtype: source.dtype,
    layout: null,
    coords: ({ m: row, n }) => [row[0]!, n[0]!],
    decode: ([row, column]) => ({ batch: [], m: [row!], n: [column!] }),
  });
}

/** The last position that names each row, or -1. */
function lastPositions(l: Lowering, index: LoweredTensor, rows: number): LoweredTensor {
  const m = new ExprMath(l.ir);
  const { index: at, vars: inner } = l.freshVar('p', index.shape[0]!);
  const value = index.load([at]);
  const own = m.eq(value, l.ir.index(value.dtype, l.vars([rows])[0]!));
  return reducePlan(l, {
    op: 'max',
    dtype: 'int32',
    sizes: [rows],
    inner,
    order: [...l.loopVars([rows]), ...inner],
    value: m.where(own, l.ir.index('int32', at), l.ir.const('int32', -1)),
  })[0]!;
}

/** The sums of all rows, made of those of the rows that positions name. */
function sumsAtPositions(
  l: Lowering,
  rows: number,
  index: LoweredTensor,
  source: LoweredTensor,
  skip: number | null,
): LoweredTensor {
  const [count, columns] = source.shape;
  const named = (p: IndexExpr): Expr => index.load([p]);
  const sums = readyOperand(l, oneHotSum(l, { rows: count, named }, index, source, skip));
  const m = new ExprMath(l.ir);
  const [row, column] = l.vars([rows, columns]);
  const last = lastPositions(l, index, rows).load([row]);
  const sum = sums.load([position(l, last, count), column]);
  return l.pointwise([rows, columns], l.ir.masked(m.ge(last, 0), sum, 0));
}

/** The gradients of positions added to their rows one after another. */
function inSteps(
  l: Lowering,
  rows: number,
  index: LoweredTensor,
  { shape, dtype, expr }: LoweredTensor,
  skip: number | null,
): LoweredTensor | null {
  const [p, column] = l.vars(shape);
  const m = new ExprMath(l.ir);
  const row = index.load([p!]);
  const coords = [checkedPosition(l, 'embedding', row, rows), column!];
  const value = skip === null ? expr : m.where(m.eq(row, skip), 0, expr);
  return sumInSteps(l, [rows, shape[1]!], dtype, { sizes: shape, along: [0] }, [{ coords, value }]);
}

/** embedding_dense_backward: grad_output, indices, num_weights, padding_idx, scale_grad_by_freq. */
const embeddingBackward: LoweringOf<'aten::embedding_dense_backward'> = (
  l,
  [g, index, numWeights, padding, scale],
  call,
) => {
  const rows = Number(numWeights);
  const columns = g.shape[g.shape.length - 1]!;
  const count = numelOf(index.shape);
  const at = readyOperand(l, reshapeTensor(l, readyOperand(l, index), [count]));
  const source = reshapeTensor(l, g, [count, columns]);
  const skip = Number(padding) >= 0 ? Number(padding) : null;
  if (!affordable(l, sizeMul(rows, columns), count, sizeMul(count, columns), 'product'))
    return scale === true ? null : inSteps(l, rows, at, source, skip);
  const [positions, products] = [sizeHint(count), rows * sizeHint(sizeMul(count, columns))];
  const sum =
    positions > 1 && 2 * positions <= rows && products >= MANY_PRODUCTS
      ? sumsAtPositions(l, rows, at, source, skip)
      : oneHotSum(l, { rows, named: (row) => l.ir.index(at.dtype, row) }, at, source, skip);
  if (scale !== true || isSame(count, 0)) return sum;
  const m = new ExprMath(l.ir);
  const acc = accumulateDtype(sum.dtype);
  const uses = usesOfRows(l, at, rows).load([l.vars(call.shape)[0]!]);
  const average = m.div(m.cast(sum.expr, acc), m.cast(m.max(uses, 1), acc));
  return l.pointwise(call.shape, m.cast(average, sum.dtype));
};

/** How often each row is named, as float32. */
export function usesOfRows(l: Lowering, index: LoweredTensor, rows: Size): LoweredTensor {
  const m = new ExprMath(l.ir);
  const each = index.shape.map((size, d) => l.freshVar(`p${d}`, size));
  const inner = each.flatMap(({ vars }) => vars);
  const value = index.load(each.map((place) => place.index));
  const own = l.ir.index(value.dtype, l.vars([rows])[0]!);
  return reducePlan(l, {
    op: 'sum',
    dtype: 'float32',
    sizes: [rows],
    inner,
    order: [...l.loopVars([rows]), ...inner],
    value: m.cast(m.eq(value, own), 'float32'),
  })[0]!;
}

/** Lowerings by overload name; null results go to the reference kernel. */
export const embeddingBackwardLowerings: LoweringTable = lowerings({
  'aten::embedding_dense_backward': embeddingBackward,
});
