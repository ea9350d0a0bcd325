/**
 * @file Products of few rows with weights of fewer than 32 bits: what a token of a language model costs.
 *
 * An item is a few columns of a row. The values of a row are made once for all of them, and kept: what runs the items one
 * after the other makes them where it comes to another row. Then the sums of the item's columns go to scratch memory, from
 * which the stores of the kernel take them. Rows follow each other: weights are taken apart for each again, which is still
 * less than a product of floats takes.
 */
import type { Size } from '@tessera/shared';
import type { LoopKernel } from '../../../ir/kernel.js';
import { indexValues, postorder, stmtRoots } from '../../../ir/walk.js';
import type { BlockProduct } from '../../kernel/blocks.js';
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
} from '../../kernel/places.js';
import type {
  ScheduledBody,
  ScheduledKernel,
  ScheduledStmt,
} from '../../kernel/scheduled-kernel.js';
import { storesOf } from '../../kernel/scratch-stores.js';
import { define, LANES, loopOver, vectorsAlong } from '../../vectors/vector-loops.js';
import { gemvProblem, type GemvProblem } from './gemv-problem.js';
import { KeptRows, timesNumber } from './kept-rows.js';
import { type GemvTarget, rowMethod } from './row-methods.js';

/** Columns of an item. */
const ITEM = 32;

/** Sums of columns before an item's: what is summed at a time ends with the columns, and may begin before the item. */
const BEFORE = 4;

/** Time of one weight, in nanoseconds. */
const WEIGHT_NS = 0.1;

/** A kernel that is such a product as a schedule; null for others. */
export function scheduleGemv(kernel: LoopKernel<Size>, target: GemvTarget): ScheduledKernel | null {
  const problem = gemvProblem(kernel, target.scratchBytes / 4);
  if (problem === null) return null;
  const { loops, sums, stores } = problem;
  const { row, column, columns, depth } = loops;
  const own = [...kernel.outer, ...kernel.inner];
  const fixed = own.filter(({ size }) => size === 1).map(({ name }) => define(name, whole(0)));
  const rows = new KeptRows(loops, fixed);
  const products = sums.map(({ x, w, weight }, i): BlockProduct => {
    const method = rowMethod(weight, depth, target);
    const b = timesNumber(w, 1 / method.factor);
    return {
      name: `product${i}`,
      a: { lines: [], layout: rows.layout(x, method) },
      b: { lines: column, value: b, layout: { kind: 'evaluated', along: 'steps', weight } },
      batch: [],
      steps: loops.digits,
      tile: { rows: 1, vectors: method.columns, apart: ITEM / method.columns },
      ends: [1, columns],
      to: `sums${i}`,
      row: BEFORE + ITEM,
    };
  });
  const perRow = Math.ceil(columns / ITEM);
  const [item, first, cols] = ['item', 'first', 'cols'].map(variable);
  const place = row === null ? item! : modulo(item!, perRow);
  const steps = [whole(0), whole(depth)] as const;
  return {
    kernel,
    loops: [...own.filter(({ size }) => size !== 1), { name: 'at', size: 1 }],
    grid: {
      name: 'item',
      extent: (row?.size ?? 1) * perRow,
      ...(stores.some((stmt) => stmt.kind === 'store' && indexValues(stmt.index).length > 0) && {
        ordered: true,
      }),
      nanoseconds: ITEM * depth * sums.length * WEIGHT_NS,
    },
    shared: [],
    accumulators: [],
    scratch: [
      ...rows.arrays,
      ...products.map(({ to }) => ({
        name: to,
        dtype: 'float32' as const,
        length: BEFORE + ITEM,
      })),
    ],
    products,
    routines: [rows.routine()],
    body: [
      ...fixed,
      ...(row === null ? [] : [define(row.name, over(item!, perRow))]),
      rows.make(),
      define('first', times(place, ITEM)),
      define('cols', minus(whole(columns), first!), ITEM),
      ...products.flatMap(({ name: product }): ScheduledStmt[] => [
        {
          kind: 'pack',
          product,
          side: 'b',
          batch: whole(0),
          lines: [[first!, cols!]],
          steps,
        },
        {
          kind: 'product',
          product,
          rows: whole(1),
          columns: cols!,
          steps: whole(depth),
          at: whole(BEFORE),
          onto: whole(0),
        },
      ]),
      ...storesOfItem(problem),
    ],
  };
}

/** Stores an item's columns, in vectors along them. */
function storesOfItem({ loops, sums, stores }: GemvProblem): ScheduledBody {
  const results = postorder(stores.flatMap(stmtRoots)).filter((expr) => expr.kind === 'acc');
  const { column, columns } = loops;
  const { name: lane } = column.at(-1)!;
  const block = column.length === 1 ? lane : 'block';
  const [first, last] = ['first', lane].map(variable);
  // Where a column's sum lies, less the variable that vectors go along.
  const others = column.slice(0, -1).map(({ name, unit }) => times(variable(name), unit));
  const at = sum(whole(BEFORE), ...others, times(first!, -1));
  const vectors = (valid: number): ScheduledBody => [
    ...(column.length === 1 ? [] : placesOf(column, variable(block))),
    define('at', at),
    ...vectorsAlong(lane, valid, [
      ...results.map((value): ScheduledStmt => ({
        kind: 'recall',
        value,
        array: `sums${sums.findIndex(({ id }) => id === value.id)}`,
        at: plus(variable('at'), last!),
      })),
      ...storesOf(stores),
    ]),
  ];
  const rest = columns % LANES;
  const stop = plus(first!, whole(ITEM));
  return [
    define('stop', stop, columns - rest),
    loopOver(block, { begin: first!, end: variable('stop') }, LANES, vectors(LANES)),
    ...(rest === 0
      ? []
      : [
          loopOver(
            block,
            { begin: whole(columns - rest), end: stop },
            LANES,
            vectors(rest),
            whole(columns),
          ),
        ]),
  ];
}
