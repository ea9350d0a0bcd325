/**
 * @file Positions in a triangle whose elements are numbered row by row: the row of a number comes from a
 * square root, corrected by whole arithmetic.
 */
import type { Expr } from '../../ir/expr.js';
import { ExprMath } from '../expr-math.js';
import type { Lowering } from '../lowering.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** Row and column of an element, int32. */
export interface Cell {
  readonly row: Expr;
  readonly column: Expr;
}

/** Rows of `first`, first + change, … elements: the row of element `q`, and its place in the row. */
function staircase(l: Lowering, q: Expr, first: number, change: 1 | -1, rows: number): Cell {
  const m = new ExprMath(l.ir);
  const start = (row: Expr): Expr => {
    const pairs = l.ir.op('shr', [m.mul(row, m.sub(row, 1)), l.ir.const('int32', 1)]);
    return m.add(m.mul(row, first), m.mul(pairs, change));
  };
  const b = first - change / 2;
  const root = m.sqrt(m.max(m.add(m.mul(m.cast(q, 'float32'), 2 * change), b * b), 0));
  const guess = m.cast(m.floor(m.mul(m.sub(root, b), change)), 'int32');
  const bounded = m.min(m.max(guess, 0), Math.max(0, rows - 1));
  const low = m.where(m.gt(start(bounded), q), m.sub(bounded, 1), bounded);
  const row = m.where(m.le(start(m.add(low, 1)), q), m.add(low, 1), low);
  return { row, column: m.sub(q, start(row)) };
}

/** Element `q` of the upper triangle above diagonal `offset`. */
export function upperCell(
  l: Lowering,
  q: Expr,
  rows: number,
  columns: number,
  offset: number,
): Cell {
  const m = new ExprMath(l.ir);
  const full = Math.min(rows, Math.max(0, -offset));
  const skipped = Math.max(0, offset);
  const block = { row: floorDiv(l, q, columns), column: modulo(l, q, columns) };
  const part = staircase(l, m.sub(q, full * columns), columns - skipped, -1, rows - full);
  const inBlock = m.lt(q, full * columns);
  return {
    row: m.where(inBlock, block.row, m.add(part.row, full)),
    column: m.where(inBlock, block.column, m.add(m.add(part.column, part.row), skipped)),
  };
}

/** Element `q` of the lower triangle up to diagonal `offset`. */
function lowerCell(l: Lowering, q: Expr, rows: number, columns: number, offset: number): Cell {
  const m = new ExprMath(l.ir);
  const empty = Math.min(rows, Math.max(0, -offset));
  const first = Math.min(columns, Math.max(1, offset + 1));
  const growing = Math.min(rows - empty, columns - first + 1);
  const total = growing * first + (growing * (growing - 1)) / 2;
  const part = staircase(l, q, first, 1, growing);
  const rest = m.max(m.sub(q, total), 0);
  const isGrowing = m.lt(q, total);
  return {
    row: m.where(
      isGrowing,
      m.add(part.row, empty),
      m.add(floorDiv(l, rest, columns), empty + growing),
    ),
    column: m.where(isGrowing, part.column, modulo(l, rest, columns)),
  };
}

function floorDiv(l: Lowering, value: Expr, by: number): Expr {
  return l.ir.op('floordiv', [value, l.ir.const('int32', by)]);
}

function modulo(l: Lowering, value: Expr, by: number): Expr {
  return l.ir.op('remainder', [value, l.ir.const('int32', by)]);
}

/** tril_indices, triu_indices: row, col, offset. */
function indices(cell: typeof upperCell): LoweringOf<'aten::tril_indices' | 'aten::triu_indices'> {
  return (l, [rows, columns, offset], call) => {
    const m = new ExprMath(l.ir);
    const [which, position] = l.vars(call.shape).map((v) => l.ir.index('int32', v));
    const { row, column } = cell(l, position, Number(rows), Number(columns), Number(offset ?? 0));
    return l.pointwise(call.shape, m.cast(m.where(m.eq(which, 0), row, column), call.dtype));
  };
}

/** Lowerings by overload name. */
export const triangleLowerings: LoweringTable = lowerings({
  'aten::tril_indices': indices(lowerCell),
  'aten::triu_indices': indices(upperCell),
});
