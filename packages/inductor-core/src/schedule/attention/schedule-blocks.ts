/**
 * @file Attention and its gradients on a machine with caches: a work item is a block of rows, which goes through the
 * columns a block at a time.
 *
 * Scores of a block are multiplied into scratch memory, weighed there, and multiplied with the values; sums of a block of
 * rows wait in scratch memory, too. A work item of a kernel with column sums has all rows, and its first block of them,
 * which reaches all columns, begins these sums.
 */
import { type Size, TesseraError, sizeCeilDiv, sizeHint, sizeMul } from '@tessera/shared';
import type { IndexExpr } from '../../ir/index-expr.js';
import type { AttentionKernel } from '../../ir/kernel.js';
import { kernelLoops } from '../../ir/kernel-parts.js';
import { extent, moves } from '../../ir/loop-vars.js';
import type { BlockRange, BlockStmt } from '../kernel/blocks.js';
import {
  minus,
  modulo,
  over,
  placesOf,
  plus,
  sum,
  times,
  variable,
  whole,
} from '../kernel/places.js';
import type { ScheduledBody, ScheduledKernel, ScheduledStmt } from '../kernel/scheduled-kernel.js';
import { define, loopOver } from '../vectors/vector-loops.js';
import type { VectorTarget } from '../vectors/vector-target.js';
import { attentionBlocks } from './attention-blocks.js';
import { BlockFrame, loopOf, STEP } from './block-frame.js';
import { blockRoutines } from './block-routines.js';

const ROWS: BlockRange = [variable('row'), variable('rows')];
const COLUMNS: BlockRange = [variable('col'), variable('cols')];

/** Schedules attention in blocks. @throws kernel-missing for several softmaxes, or sums that are no floats */
export function scheduleAttentionBlocks(
  kernel: AttentionKernel<Size>,
  target: VectorTarget,
): ScheduledKernel {
  const { name, accDtype: dtype, softmax, weights } = kernel;
  if ((dtype !== 'float32' && dtype !== 'float64') || (softmax && weights.length > 1))
    throw new TesseraError(
      'kernel-missing',
      `Attention '${name}' has sums of type ${dtype} or several softmaxes, for which there are no blocks.`,
      { context: { kernel: name, dtype } },
    );
  const blocks = attentionBlocks(kernel, target.scratchBytes * 4);
  const frame = new BlockFrame(kernel, blocks, target.tile);
  const { routines, ...made } = blockRoutines(frame, target);
  const { batch, m, columnSums } = kernel;
  const count = sizeCeilDiv(extent(m), blocks.rows);
  const hasAllRows = columnSums.length > 0;
  const item = variable('item');
  const entry = define('batch', hasAllRows ? item : over(item, count));
  const places = placesOf(batch, variable('batch'));
  const body = rowBlock(frame);
  return {
    ...made,
    loops: loopsOf(frame),
    grid: {
      name: 'item',
      extent: hasAllRows ? extent(batch) : sizeMul(extent(batch), count),
      nanoseconds: nanoseconds(kernel, hasAllRows ? sizeHint(extent(m)) : blocks.rows),
    },
    shared: [],
    scratch: frame.arrays,
    products: frame.products,
    routines,
    body: hasAllRows
      ? [entry, ...places, loopOf('block', whole(count), body)]
      : [entry, ...places, define('block', modulo(item, count)), ...body],
  };
}

/** The kernel's variables that indices need, and those of blocks. Others are sums of these. */
function loopsOf({ kernel, blocks, width, along }: BlockFrame): ScheduledKernel['loops'] {
  const rows = kernel.m.filter(moves);
  const defined = new Set([
    along.name,
    ...(rows.length > 1 ? [] : kernel.m.map(({ name }) => name)),
  ]);
  return [
    ...kernelLoops(kernel).filter(({ name }) => !defined.has(name)),
    { name: 'row', size: extent(kernel.m) },
    { name: 'down', size: blocks.rows },
    { name: 'first', size: along.size },
    { name: 'along', size: blocks.columns },
    { name: 'element', size: Math.ceil(width / STEP) * STEP },
  ];
}

function nanoseconds(
  { j, k, n, scores, values, columnSums, triangle }: AttentionKernel<Size>,
  rows: number,
): number {
  const [length, depth, width] = [j, k, n].map((loops) => sizeHint(extent(loops)));
  const perPair = 2 * (scores.length * depth! + (values.length + columnSums.length) * width!);
  return (rows * length! * perPair) / (triangle === 'none' ? 40 : 80);
}

/** All of a block of rows. */
function rowBlock(frame: BlockFrame): ScheduledBody {
  const { kernel, blocks } = frame;
  const { batch, row, rows } = named('batch', 'row', 'rows');
  const left = minus(whole(extent(kernel.m)), row!);
  const depth: BlockRange = [whole(0), whole(extent(kernel.k))];
  const width: BlockRange = [whole(0), whole(frame.width)];
  return [
    define('row', times(variable('block'), blocks.rows)),
    define('rows', left, blocks.rows),
    visit('begin', rows!),
    ...kernel.scores.map((_, p) => pack(`score${p}`, 'a', ROWS, depth)),
    ...kernel.columnSums.map((_, c) => pack(`column${c}`, 'b', width, ROWS)),
    ...walkColumns(frame, [
      ...kernel.scores.flatMap((_, p) => [
        pack(`score${p}`, 'b', COLUMNS, depth),
        multiply(`score${p}`, [ROWS, COLUMNS, depth], whole(0), whole(0)),
      ]),
      visit('weigh', batch!, row!, rows!, ...['turn', 'first', 'cols'].map(variable)),
      ...kernel.values.flatMap((_, q) => [
        pack(`value${q}`, 'b', width, COLUMNS),
        multiply(`value${q}`, [ROWS, width, COLUMNS], whole(0), whole(1)),
      ]),
      ...frame.columnPlaces.map((at, c) =>
        multiply(`column${c}`, [COLUMNS, width, ROWS], at, row!),
      ),
    ]),
    visit('finish', batch!, row!, rows!),
  ];
}

/** Goes through turns and blocks of columns; what is outside of a triangle is not visited. */
function walkColumns({ kernel, blocks, along }: BlockFrame, body: ScheduledBody): ScheduledBody {
  const { j, triangle } = kernel;
  const { row, rows, first, turn } = named('row', 'rows', 'first', 'turn');
  const outer = j.slice(0, -1);
  return [
    triangle === 'upper' ? define('start', row!, along.size) : define('start', whole(0)),
    triangle === 'lower'
      ? define('stop', plus(row!, rows!), along.size)
      : define('stop', whole(along.size)),
    loopOf('turn', whole(extent(outer)), [
      ...placesOf(outer, turn!),
      loopOver('first', { begin: variable('start'), end: variable('stop') }, blocks.columns, [
        define('col', sum(times(turn!, along.size), first!)),
        define('cols', minus(variable('stop'), first!), blocks.columns),
        ...body,
      ]),
    ]),
  ];
}

function named(...names: readonly string[]): Record<string, IndexExpr> {
  return Object.fromEntries(names.map((name) => [name, variable(name)]));
}

function visit(routine: string, ...at: readonly IndexExpr[]): ScheduledStmt {
  return { kind: 'visit', routine, at, of: [] };
}

function pack(product: string, side: 'a' | 'b', lines: BlockRange, steps: BlockRange): BlockStmt {
  return { kind: 'pack', product, side, batch: variable('batch'), lines: [lines], steps };
}

function multiply(
  product: string,
  [rows, columns, steps]: readonly [BlockRange, BlockRange, BlockRange],
  at: IndexExpr,
  onto: IndexExpr,
): BlockStmt {
  return {
    kind: 'product',
    product,
    rows: rows[1],
    columns: columns[1],
    steps: steps[1],
    at,
    onto,
  };
}
