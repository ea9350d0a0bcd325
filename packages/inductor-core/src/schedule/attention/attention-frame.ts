/**
 * @file What schedules of attention have in common, whoever multiplies: operands and how they are loaded, which rows a
 * group makes, which columns it visits, how scores are weighed, and what is stored.
 */
import { type Size, isMultiple, sizeCeilDiv, sizeMul } from '@tessera/shared';
import type { IndexExpr } from '../../ir/index-expr.js';
import type { AttentionKernel } from '../../ir/kernel.js';
import { extent } from '../../ir/loop-vars.js';
import { modulo, over, sum, times, variable, whole } from '../kernel/places.js';
import type { Routine } from '../kernel/registers.js';
import type { ParallelAxis, ScheduledBody, ScheduledStmt } from '../kernel/scheduled-kernel.js';
import { loadOrder, type LoadOrder, type ProductOperand } from '../products/operand-order.js';
import { below, loadRoutine, storeRoutine } from '../products/product-routines.js';
import { foldGrid, type ThreadTarget } from '../threads/thread-target.js';
import { rowRoutine, weighRoutine, weightRoutine } from './attention-routines.js';

/** A group makes `bm` rows of results, `covered` wide, from `bn` columns of weights at a time. */
export interface AttentionExtents {
  readonly bm: number;
  readonly bn: number;
  readonly covered: number;
  /** k is loaded in so many values at a time, and so are columns for the products with values. */
  readonly bk: number;
  readonly bj: number;
}

/** An operand, how it is loaded, its batch and its first x. */
export interface AttentionOperand {
  readonly operand: ProductOperand;
  readonly order: LoadOrder;
  readonly batch: IndexExpr;
  readonly origin: IndexExpr;
  readonly extent: number;
}

/** In which orders operands are loaded, where that is not as they lie in memory. */
export interface AttentionOrders {
  readonly factors: LoadOrder;
  readonly values: LoadOrder;
}

/** See the file header. */
export interface AttentionFrame {
  readonly factors: readonly (readonly [AttentionOperand, AttentionOperand])[];
  readonly values: readonly AttentionOperand[];
  readonly grid: ParallelAxis;
  /** Those that load operands come first, in their order. */
  readonly routines: readonly Routine[];
  /** Defines `batch` and `first_m`; ends a group without rows to make. */
  readonly begin: ScheduledBody;
  /** The batch of columns. */
  readonly place: IndexExpr;
}

/** The frame of an attention kernel. */
export function attentionFrame(
  kernel: AttentionKernel<Size>,
  { bm, bn, covered, bk, bj }: AttentionExtents,
  { maxWorkgroupsPerDimension, software }: ThreadTarget,
  orders?: AttentionOrders,
): AttentionFrame {
  const { batch, m, j, k, n, epilogue, rowStores, accDtype, triangle } = kernel;
  const [turns, along] = [j.slice(0, -1), j.slice(-1)];
  const columns = { batch: [...batch, ...turns], x: along };
  const own = variable('batch');
  const place = turns.length === 0 ? own : variable('place');
  const framed = (
    operand: ProductOperand,
    at: Pick<AttentionOperand, 'batch' | 'origin' | 'extent'>,
    order = loadOrder(operand),
  ): AttentionOperand => ({ operand, order, ...at });
  const factors = kernel.scores.map(
    ({ a, b }, p) =>
      [
        framed(
          { name: `a${p}`, expr: a, batch, x: m, k },
          { batch: own, origin: variable('first_m'), extent: bm },
          orders?.factors,
        ),
        framed(
          { name: `b${p}`, expr: b, ...columns, k },
          { batch: place, origin: variable('first_j'), extent: bn },
          orders?.factors,
        ),
      ] as const,
  );
  const values = kernel.values.map((expr, q) =>
    framed(
      { name: `v${q}`, expr, batch: columns.batch, x: n, k: along },
      { batch: place, origin: whole(0), extent: covered },
      orders?.values,
    ),
  );
  const loads = (of: readonly AttentionOperand[], isCut: boolean): Routine[] =>
    of.map(({ operand, order }) => loadRoutine(operand, order, accDtype, isCut));
  const products = kernel.values.map((_, q) => `product${q}`);
  const tiles = sizeCeilDiv(extent(m), bm);
  const batches = extent(batch);
  const count = sizeMul(tiles, batches);
  const { hasSurplus } = foldGrid(count, maxWorkgroupsPerDimension);
  const set = (name: string, index: IndexExpr): ScheduledStmt => ({ kind: 'let', name, index });
  const across = over(variable('tile'), batches);
  // The longest rows first: what begins last should be short.
  const down: IndexExpr =
    triangle === 'lower'
      ? { kind: 'add', terms: [whole(tiles), times(whole(1), -1), times(across, -1)] }
      : across;
  return {
    factors,
    values,
    grid: { name: 'group', extent: count, ...(hasSurplus && { surplus: true }) },
    routines: [
      ...loads(factors.flat(), !isMultiple(extent(k), bk)),
      ...loads(values, !isMultiple(extent(along), bj)),
      ...(epilogue.length > 0
        ? [storeRoutine({ epilogue, batch, m, n, bm, bn: covered, products })]
        : []),
      ...(rowStores.length > 0 ? [rowRoutine(kernel, bm)] : []),
      ...kernel.weights.map((_, q) => weighRoutine(kernel, q, bn, !software)),
      ...(kernel.weightStores.length > 0 ? [weightRoutine(kernel, bm, bn)] : []),
    ],
    begin: [
      ...(hasSurplus ? [{ kind: 'exit', unless: [below(variable('group'), count)] } as const] : []),
      set('tile', variable('group')),
      set('batch', modulo(variable('tile'), batches)),
      set('first_m', times(down, bm)),
    ],
    place,
  };
}

/** What is done for columns. */
export interface ColumnVisit {
  /** Before the first tile of a turn, at a column. */
  readonly prepare?: (first: IndexExpr) => ScheduledBody;
  /** For the tile at `first_j`, number `block` of those until `end_block`. */
  readonly visit: ScheduledBody;
}

/** Goes through turns and tiles of columns; what is outside of a triangle is not visited. */
export function visitColumns(
  { j, triangle }: Pick<AttentionKernel<Size>, 'j' | 'triangle'>,
  { bm, bn }: Pick<AttentionExtents, 'bm' | 'bn'>,
  { prepare, visit }: ColumnVisit,
): ScheduledBody {
  const turns = j.slice(0, -1);
  const tiles = sizeCeilDiv(extent(j.slice(-1)), bn);
  const first = variable('first_m');
  const begin = triangle === 'upper' ? over(first, bn) : whole(0);
  const end: ScheduledStmt =
    triangle === 'lower'
      ? {
          kind: 'let',
          name: 'end_block',
          index: over(sum(first, whole(bm + bn - 1)), bn),
          atMost: tiles,
        }
      : { kind: 'let', name: 'end_block', index: whole(tiles) };
  const walk: ScheduledBody = [
    end,
    ...(prepare?.(triangle === 'upper' ? times(begin, bn) : begin) ?? []),
    {
      kind: 'loop',
      name: 'block',
      begin,
      ends: [variable('end_block')],
      pace: 1,
      body: [{ kind: 'let', name: 'first_j', index: times(variable('block'), bn) }, ...visit],
    },
  ];
  if (turns.length === 0) return walk;
  const count = extent(turns);
  const index = sum(times(variable('batch'), count), variable('turn'));
  return [
    {
      kind: 'loop',
      name: 'turn',
      begin: whole(0),
      ends: [whole(count)],
      pace: 1,
      body: [{ kind: 'let', name: 'place', index }, ...walk],
    },
  ];
}
