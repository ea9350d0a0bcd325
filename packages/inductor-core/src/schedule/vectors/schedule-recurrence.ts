/**
 * @file Recurrences on cores with short vectors: a work item runs all steps of a few rows.
 *
 * Each step goes over its rows three times: what is multiplied is made of the states, then multiplied with the weights,
 * some rows and vectors of units at a time, then the results are stored and the states become the next ones. States,
 * vectors and products lie in scratch memory in between. Weights are read at every step, in vectors along units.
 */
import { type Size, TesseraError, sizeCeilDiv, sizeHint } from '@tessera/shared';
import { IrBuilder } from '../../ir/build.js';
import type { Expr, Stmt } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import type { RecurrenceKernel } from '../../ir/kernel.js';
import { kernelLoops } from '../../ir/kernel-parts.js';
import { extent } from '../../ir/loop-vars.js';
import { postorder, stmtRoots } from '../../ir/walk.js';
import { minus, over, plus, times, variable, whole } from '../kernel/places.js';
import { inPlace, type StoreStmt, storesOf } from '../kernel/scratch-stores.js';
import type {
  Accumulator,
  ScheduledBody,
  ScheduledKernel,
  ScheduledStmt,
  ScratchArray,
} from '../kernel/scheduled-kernel.js';
import { reductionOf } from '../reductions.js';
import { define, digitsOf, LANES, loopOver } from './vector-loops.js';
import type { VectorTarget } from './vector-target.js';

/** Sums that registers hold, beside weights and factors. */
const SUMS = 8;
/** Work items that there should be: enough for the threads of ordinary machines. */
const ITEMS = 8;
/** Rows of a work item at most: their arrays stay in a near cache. */
const MOST_ROWS = 16;
/** Time of a multiplication and addition, and of the rest of a unit at a step, in nanoseconds (measured, one thread). */
const TERM_NS = 0.05;
const UNIT_NS = 12;

/** Schedules a recurrence. @throws kernel-missing when states are no floats, or have several dimensions */
export function scheduleRecurrence(
  kernel: RecurrenceKernel<Size>,
  { arithmetic }: VectorTarget,
): ScheduledKernel {
  const { name, batch, step, n, k, states, vectors, products, accDtype: dtype } = kernel;
  if ((dtype !== 'float32' && dtype !== 'float64') || n.length > 1 || k.length > 1)
    throw new TesseraError(
      'kernel-missing',
      `There are no vectors for recurrence '${name}': its states are ${dtype}, or have several dimensions.`,
      { context: { kernel: name, dtype } },
    );
  const units = extent(n);
  const entries = sizeHint(extent(batch));
  // Vectors that hold the units; rows and vectors whose sums are in registers together; rows of an item.
  const blocks = Math.ceil(units / LANES);
  const tileBlocks = products.length === 1 && blocks % 2 === 0 ? 2 : 1;
  const most = Math.max(1, Math.floor(SUMS / (products.length * tileBlocks)));
  const tileRows = most >= 4 && entries >= 4 ? 4 : most >= 2 && entries >= 2 ? 2 : 1;
  const share = Math.ceil(entries / ITEMS / tileRows) * tileRows;
  const rows = Math.max(tileRows, Math.min(MOST_ROWS, share));
  const ir = new IrBuilder();
  const loops = kernelLoops(kernel);
  for (const loop of loops) ir.sym(loop.name, loop.size);
  const pitch = blocks * LANES;
  const row = ir.sym('row.', rows);
  const unitName = n[0]?.name ?? 'unit.';
  const otherName = k[0]?.name ?? 'other.';
  const [unit, other] = [ir.sym(unitName, pitch), ir.sym(otherName, units)];
  const [block, lane] = [variable('block.'), variable('lane.')];
  const [count, first] = [variable('rows'), variable('first')];

  const arrays: ScratchArray[] = [];
  const declare = (array: string): string => {
    // Long ones do not compete for the same lines of the cache.
    const padding = (rows * pitch) % 256 === 0 ? 16 : 0;
    arrays.push({ name: array, dtype, length: rows * pitch + padding });
    return array;
  };
  const stateOf = states.map((_, s) => declare(`state.${s}`));
  const vectorOf = vectors.map((_, v) => declare(`vector.${v}`));
  const productOf = products.map((_, p) => declare(`product.${p}`));
  /** An element of the present row, or of one `behind` it. */
  const place = (at: IndexExpr, behind = 0): IndexExpr =>
    ir.add(ir.scale(row, pitch), at, ir.int(behind * pitch));
  const read = (buf: string, at = unit, behind = 0): Expr => ir.load(dtype, buf, place(at, behind));
  const set = (buf: string, value: Expr, behind = 0): StoreStmt => ({
    kind: 'store',
    buf,
    index: place(unit, behind),
    value,
  });

  // States and products are read from where they lie.
  const memo = new Map<Expr, Expr>();
  const results = [...stateOf, ...productOf];
  const known = (value: Expr): Expr =>
    ir.rewrite([value], { acc: ({ id }) => read(results[id]!) }, memo)[0]!;
  const own: RecurrenceKernel<Size> = {
    ...kernel,
    states: states.map(({ initial, next }) => ({ initial: known(initial), next: known(next) })),
    vectors: vectors.map(known),
    products: products.map((terms) =>
      terms.map(({ vector, weight }) => ({ vector, weight: ir.cast(known(weight), dtype) })),
    ),
    stores: storesOf(kernel.stores, known),
    lastStores: storesOf(kernel.lastStores, known),
  };
  const isLate = (stmt: Stmt): boolean =>
    postorder(stmtRoots(stmt)).some((expr) => expr.kind === 'load' && productOf.includes(expr.buf));

  const vector = (groups: number, valid: number, body: ScheduledBody): ScheduledBody => [
    {
      kind: 'vector',
      lanes: { lane: 'lane.', across: 'block.', width: LANES, step: 1, groups, valid },
      body: [define(unitName, plus(times(block, LANES), lane)), ...body],
    },
  ];
  const inBlocks = (
    begin: number,
    end: number,
    pace: number,
    body: ScheduledBody,
  ): ScheduledBody =>
    begin === end ? [] : [loopOver('block.', { begin: whole(begin), end: whole(end) }, pace, body)];
  /** A body for vectors of all units of each row. */
  const eachUnit = (body: readonly Stmt[]): ScheduledBody => {
    const full = Math.floor(units / LANES);
    const groups = full % 2 === 0 && full === blocks ? 2 : 1;
    const stores = storesOf(body);
    if (stores.length === 0) return [];
    return [
      loopOver('row.', { begin: whole(0), end: count }, 1, [
        ...digitsOf(batch, plus(first, row)),
        ...inBlocks(0, full, groups, vector(groups, LANES, stores)),
        ...inBlocks(full, blocks, 1, vector(1, units % LANES, stores)),
      ]),
    ];
  };

  const reduction = reductionOf({ op: 'sum', dtype, target: arithmetic });
  const sums = products.map((_, p) =>
    Array.from({ length: tileRows }, (__, r): Accumulator => {
      const ids = [p * tileRows + r];
      return { name: `sum${p}.${r}`, reduction, ids, dtype, fused: true };
    }),
  );
  const tile = (begin: IndexExpr, end: IndexExpr, height: number): ScheduledStmt => {
    const used = sums.map((ofRows) => ofRows.slice(0, height));
    const of = used.flat().map((sum) => sum.name);
    const updates = own.products.flatMap((terms, p) =>
      terms.flatMap((term) =>
        used[p]!.map((sum, r): ScheduledStmt => {
          const value = ir.op('mul', [term.weight, read(vectorOf[term.vector]!, other, r)]);
          return { kind: 'update', of: sum.name, value, at: other };
        }),
      ),
    );
    const body = vector(tileBlocks, LANES, [
      { kind: 'start', of },
      loopOver(otherName, { begin: whole(0), end: whole(units) }, 1, updates),
      { kind: 'part', of },
      { kind: 'finish', of },
      ...used.flatMap((ofRows, p) =>
        ofRows.map(({ ids }, r) => set(productOf[p]!, ir.acc(dtype, ids[0]!), r)),
      ),
    ]);
    return loopOver('row.', { begin, end }, height, body);
  };

  const middle = variable('middle');
  const next = own.states.map((state, s) => set(stateOf[s]!, state.next));
  const stepNs = units * (units * products.flat().length * TERM_NS + UNIT_NS);
  return {
    kernel: own,
    loops: [
      ...loops.filter((loop) => loop.name !== n[0]?.name),
      { name: 'row.', size: rows },
      { name: 'block.', size: blocks },
      { name: 'lane.', size: LANES },
    ],
    grid: {
      name: 'item',
      extent: sizeCeilDiv(extent(batch), rows),
      nanoseconds: rows * sizeHint(extent(step)) * stepNs,
    },
    shared: [],
    scratch: arrays,
    accumulators: sums.flat(),
    body: [
      define('lane.', whole(0)),
      ...loops.filter(({ size }) => size === 1).map((loop) => define(loop.name, whole(0))),
      define('first', times(variable('item'), rows)),
      define('rows', minus(whole(extent(batch)), first), rows),
      define('middle', times(over(count, tileRows), tileRows)),
      ...eachUnit(own.states.map((state, s) => set(stateOf[s]!, state.initial))),
      loopOver('step.', { begin: whole(0), end: whole(extent(step)) }, 1, [
        ...digitsOf(step, variable('step.')),
        ...eachUnit([
          ...own.stores.filter((stmt) => !isLate(stmt)),
          ...own.vectors.map((value, v) => set(vectorOf[v]!, value)),
        ]),
        ...inBlocks(0, blocks, tileBlocks, [
          tile(whole(0), middle, tileRows),
          ...(tileRows > 1 ? [tile(middle, count, 1)] : []),
        ]),
        ...eachUnit([
          ...own.stores.filter(isLate),
          ...inPlace(
            next,
            (array) => declare(`next.${array}`),
            ({ buf }) => read(buf),
          ),
        ]),
      ]),
      ...eachUnit(own.lastStores),
    ],
  };
}
