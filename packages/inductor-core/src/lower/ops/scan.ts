/**
 * @file Scans along a dimension in linear work: running sums, products and extremes.
 *
 * Where kernels can have running reductions a scan is one, in the kernel of its producers and consumers; with
 * fewer rows than workers each row is cut into long pieces, whose totals are scanned in turn.
 *
 * Elsewhere a row is cut into short blocks. Every position reduces its own block up to itself, the last position of
 * each block gives the block's total, the totals are scanned in the same way, and each position joins the
 * total of the blocks before it. That is `BLOCK` steps per element however long the row is, and all of it
 * is reductions over independent points, which threads, vectors and workgroups share. The cost is a few
 * launches: one more level per factor of `BLOCK`. @see Blelloch, "Prefix sums and their applications"
 */
import { type Size, isMultiple, sizeCeilDiv, sizeHint, sizeSub } from '@tessera/shared';
import { type DType, isFloatingPoint } from '@tessera/tensor';
import type { Expr, ScalarOp } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { within } from '../within.js';
import { castTensor } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { accumulateDtype, neutral, reducePlan } from '../reduce.js';
import { dimsOf } from './reduction.js';
import { type Shape, fixed, isEmpty, isLarger, numelOf } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** How a running value takes in the next element. */
export type ScanOp = 'sum' | 'prod' | 'max' | 'min';

const JOIN: Readonly<Record<ScanOp, ScalarOp>> = {
  sum: 'add',
  prod: 'mul',
  max: 'maximum',
  min: 'minimum',
};

/** Elements of a block. Rows up to twice as long are one block. */
const BLOCK = 32;
/** Lengths of blocks to choose from so that a row holds a whole number of them. */
const BLOCKS: readonly number[] = [32, 40, 48, 24, 64, 20, 16];

/** The blocks of a row. */
function blockOf(length: Size): Size {
  if (!isLarger(length, 2 * BLOCK)) return length;
  return BLOCKS.find((size) => isMultiple(length, size)) ?? BLOCK;
}

/** Fewest elements of a piece of a row for which another worker is worth two more passes. */
const SHORTEST_PIECE = 4096;

/** Length of the pieces that a row is cut into so that workers have something to do. */
function pieceOf(l: Lowering, rows: Size, length: Size): Size {
  const { parallelism } = l.capabilities;
  if (isLarger(2 * SHORTEST_PIECE, length) || !isLarger(parallelism, rows)) return length;
  const wanted = Math.ceil(parallelism / fixed(rows));
  const example = sizeHint(length);
  return Math.ceil(example / Math.min(wanted, Math.floor(example / SHORTEST_PIECE)));
}

/** Running values along dimension `at`, of the dtype of `x`. Blocks are read many times: `x` is given memory then. */
export function scanAlong(
  l: Lowering,
  op: ScanOp,
  x: LoweredTensor,
  at: number,
  layout: Shape | null = null,
): LoweredTensor {
  const length = x.shape[at]!;
  if (!isLarger(length, 1) || isEmpty(x.shape)) return x;
  const isRunning = l.capabilities.scans === true;
  const rows = numelOf(x.shape.filter((_, d) => d !== at));
  const size = isRunning ? pieceOf(l, rows, length) : blockOf(length);
  if (isRunning && size === length) return l.addScan(op, x.shape, at, x.expr, layout);
  if (!isRunning && !x.isRealized && l.costOf(x.expr).loads > 0) x.realize();
  const count = size === length ? 1 : sizeCeilDiv(length, size);
  const within = scanBlocks(l, op, x, at, size, count);
  const vars = l.vars(x.shape);
  const place = (block: IndexExpr, position: IndexExpr): IndexExpr[] => [
    ...vars.slice(0, at),
    block,
    position,
    ...vars.slice(at + 1),
  ];
  const i = vars[at]!;
  if (count === 1) return within.view(x.shape, place(l.ir.int(0), i));
  const totals = x.shape.map((s, d) => (d === at ? count : s));
  const heads = l.vars(totals);
  const total = within.view(totals, [
    ...heads.slice(0, at),
    heads[at]!,
    l.ir.size(sizeSub(size, 1)),
    ...heads.slice(at + 1),
  ]);
  const before = scanAlong(l, op, total, at);
  if (!before.isRealized) before.realize();
  const block = l.ir.div(i, size);
  const m = new ExprMath(l.ir);
  const isFirst = m.lt(l.ir.index('int32', i), size);
  const earlier = l.ir.masked(
    l.ir.op('not', [isFirst]),
    before.load(vars.map((v, d) => (d === at ? l.ir.add(block, l.ir.int(-1)) : v))),
    neutral(op, x.dtype),
  );
  const own = within.load(place(block, l.ir.mod(i, size)));
  return l.pointwise(x.shape, l.ir.op(JOIN[op], [earlier, own]));
}

/** Running values of each block: dimension `at` becomes (block, position). */
function scanBlocks(
  l: Lowering,
  op: ScanOp,
  x: LoweredTensor,
  at: number,
  size: Size,
  count: Size,
): LoweredTensor {
  const sizes = [...x.shape.slice(0, at), count, size, ...x.shape.slice(at + 1)];
  const vars = l.vars(sizes);
  const length = x.shape[at]!;
  const isFull = count === 1 || isMultiple(length, size);
  const start = neutral(op, x.dtype);
  if (l.capabilities.scans === true) {
    const place = l.ir.add(l.ir.scale(vars[at]!, size), vars[at + 1]!);
    const own = x.load([...vars.slice(0, at), place, ...vars.slice(at + 2)]);
    const element = isFull ? own : l.ir.masked(within(l, place, 0, length), own, start);
    return l.addScan(op, sizes, at + 1, element, null);
  }
  const earlier = l.freshVar('t', size);
  const from = l.ir.add(l.ir.scale(vars[at]!, size), earlier.index);
  const m = new ExprMath(l.ir);
  const index = (e: IndexExpr): Expr => l.ir.index('int32', e);
  const reached = m.le(index(earlier.index), index(vars[at + 1]!));
  const element = x.load([...vars.slice(0, at), from, ...vars.slice(at + 2)]);
  const value = isFull
    ? m.where(reached, element, start)
    : l.ir.masked(m.and(reached, m.lt(index(from), length)), element, start);
  return reducePlan(l, {
    op,
    dtype: x.dtype,
    sizes,
    inner: earlier.vars,
    order: [...l.loopVars(sizes), ...earlier.vars],
    value,
    whole: true,
  })[0]!;
}

/** cumsum and cumprod: self, dim, dtype. */
function running(op: 'sum' | 'prod'): LoweringOf<'aten::cumsum' | 'aten::cumprod'> {
  return (l, [x, dim], call) => {
    if (x.shape.length === 0) return castTensor(l, x, call.dtype);
    const [at] = dimsOf(dim, x.shape.length, call.op);
    // A sum in another type adds elements of that type.
    const entered = castTensor(l, castTensor(l, x, call.dtype), accumulateDtype(call.dtype));
    return castTensor(l, scanAlong(l, op, entered, at, call.results[0]?.layout), call.dtype);
  };
}

/** cummax and cummin: self, dim. The last of equal elements counts, and NaN stays once met. */
function runningExtreme(op: 'max' | 'min'): LoweringOf<'aten::cummax' | 'aten::cummin'> {
  return (l, [x, dim], call) => {
    if (x.shape.length === 0) return [x, l.pointwise([], l.ir.const('int64', 0))];
    const [at] = dimsOf(dim, x.shape.length, call.op);
    const compared: DType = x.dtype === 'bool' ? 'int32' : x.dtype;
    const elements = castTensor(l, x, compared);
    const best = scanAlong(l, op, elements, at, call.results[0]?.layout);
    if (!best.isRealized && isLarger(best.shape[at]!, 1)) best.realize();
    const m = new ExprMath(l.ir);
    const here = elements.expr;
    const same = m.eq(here, best.expr);
    const holds = isFloatingPoint(compared)
      ? l.ir.op('or', [same, l.ir.op('isnan', [here])])
      : same;
    const position = l.ir.index('int32', l.vars(x.shape)[at]!);
    const places = l.pointwise(x.shape, m.where(holds, position, -1));
    return [castTensor(l, best, x.dtype), castTensor(l, scanAlong(l, 'max', places, at), 'int64')];
  };
}

/** Lowerings by overload name. */
export const scanLowerings: LoweringTable = lowerings({
  'aten::cumsum': running('sum'),
  'aten::cumprod': running('prod'),
  'aten::cummax': runningExtreme('max'),
  'aten::cummin': runningExtreme('min'),
});
