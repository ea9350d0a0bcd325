/**
 * @file What products made tile by tile have in common, whoever multiplies: the operands and how they are loaded, the
 * epilogue, and which tile a group makes.
 */
import { type Size, isMultiple, sizeCeilDiv, sizeMul } from '@tessera/shared';
import type { IndexExpr } from '../../ir/index-expr.js';
import type { MatmulKernel } from '../../ir/kernel.js';
import { extent } from '../../ir/loop-vars.js';
import { modulo, over, times, variable, whole } from '../kernel/places.js';
import type { Routine } from '../kernel/registers.js';
import type {
  ParallelAxis,
  ScheduledBody,
  ScheduledStmt,
  SharedArray,
} from '../kernel/scheduled-kernel.js';
import { foldGrid, type ThreadTarget } from '../threads/thread-target.js';
import { loadOrder, type LoadOrder, type ProductOperand } from './operand-order.js';
import { below, loadRoutine, storeRoutine } from './product-routines.js';
import { shareOf, WHOLE_SHARE } from './result-share.js';

/** A tile of results, the steps of k that are loaded at a time, and who makes it. */
export interface FrameTile {
  readonly bm: number;
  readonly bn: number;
  readonly bk: number;
  readonly threads: number;
}

/** An operand's slab: how it is loaded, values along x, and the first x. */
export interface FrameOperand {
  readonly operand: ProductOperand;
  readonly order: LoadOrder;
  readonly extent: number;
  readonly origin: IndexExpr;
}

/** See the file header. */
export interface ProductFrame {
  readonly operands: readonly [FrameOperand, FrameOperand];
  /** Slabs along k. */
  readonly steps: Size;
  readonly grid: ParallelAxis;
  readonly routines: readonly Routine[];
  readonly shared: readonly SharedArray[];
  /** Defines `batch`, `first_m` and `first_n`; ends a group without results to make. */
  readonly begin: ScheduledBody;
}

/** The frame of a product. */
export function productFrame(
  kernel: MatmulKernel<Size>,
  { bm, bn, bk, threads }: FrameTile,
  { maxWorkgroupsPerDimension }: Pick<ThreadTarget, 'maxWorkgroupsPerDimension'>,
): ProductFrame {
  const { batch, m, n, k, epilogue, accDtype } = kernel;
  const [a, b] = (['a', 'b'] as const).map((name) => {
    const operand: ProductOperand = { name, expr: kernel[name], batch, x: name === 'a' ? m : n, k };
    return { operand, order: loadOrder(operand) };
  });
  const isCut = !isMultiple(extent(k), bk);
  const parts = shareOf(kernel)?.parts(kernel, { bm, bn, threads }) ?? WHOLE_SHARE;
  const [tilesM, tilesN] = [sizeCeilDiv(extent(m), bm), sizeCeilDiv(extent(n), bn)];
  const tiles = sizeMul(tilesM, tilesN);
  const count = sizeMul(tiles, extent(batch));
  const { hasSurplus } = foldGrid(count, maxWorkgroupsPerDimension);
  const set = (name: string, index: IndexExpr): ScheduledStmt => ({ kind: 'let', name, index });
  const tile = variable('tile');
  return {
    operands: [
      { ...a!, extent: bm, origin: variable('first_m') },
      { ...b!, extent: bn, origin: variable('first_n') },
    ],
    steps: sizeCeilDiv(extent(k), bk),
    grid: { name: 'group', extent: count, ...(hasSurplus && { surplus: true }) },
    routines: [
      ...[a!, b!].map(({ operand, order }) => loadRoutine(operand, order, accDtype, isCut)),
      ...parts.routines,
      storeRoutine({ epilogue, batch, m, n, bm, bn, products: ['product'], exits: parts.exits }),
    ],
    shared: parts.shared,
    begin: [
      ...(hasSurplus ? [{ kind: 'exit', unless: [below(variable('group'), count)] } as const] : []),
      set('tile', variable('group')),
      set('batch', over(tile, tiles)),
      set('first_m', times(modulo(over(tile, tilesN), tilesM), bm)),
      set('first_n', tilesN === 1 ? whole(0) : times(modulo(tile, tilesN), bn)),
      ...parts.begin,
    ],
  };
}
