/**
 * @file Matrix products on threads, tile by tile, with fused prologue and epilogue.
 *
 * Each group walks k in slabs: the slab of A (transposed) and of B lie in shared memory, every thread keeps its block of
 * results in registers, and the next slab's loads are issued before the arithmetic on this one. Operands are arbitrary
 * expressions, so implicit-GEMM convolutions, casts and masks all pass through `load_a` and `load_b`; `store_c` runs the
 * epilogue on four results.
 */
import type { Size } from '@tessera/shared';
import type { MatmulKernel } from '../../ir/kernel.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { minus, sum, times, variable, whole } from '../kernel/places.js';
import { register } from '../kernel/register-values.js';
import type { Cell } from '../kernel/registers.js';
import type { ScheduledBody, ScheduledKernel, ScheduledStmt } from '../kernel/scheduled-kernel.js';
import type { ThreadTarget } from '../threads/thread-target.js';
import { productFrame } from './product-frame.js';
import { below } from './product-routines.js';
import { matmulClass, matmulShape } from './product-shape.js';
import { placeThread } from './product-threads.js';
import {
  chooseMatmulTile,
  chooseRestTile,
  isWrittenOut,
  type MatmulTile,
  tilePadding,
  type TileMemory,
  tileThreads,
} from './product-tiles.js';
import { addProducts, registerBlock } from './register-block.js';
import { shareOf } from './result-share.js';
import { eachRow, Slab, walkSlabs } from './slab.js';
import { blockLoaders } from './slab-layout.js';

/** Decisions that are otherwise made by the shape. */
export interface ProductChoices {
  readonly tile?: MatmulTile;
  /** Measured winners. */
  readonly memory?: TileMemory | undefined;
  /** Whether the steps of a slab are written out. */
  readonly unrolled?: boolean;
}

/** Schedules a product. */
export function scheduleProduct(
  kernel: MatmulKernel<Size>,
  target: ThreadTarget,
  choices: ProductChoices = {},
): ScheduledKernel {
  const shape = matmulShape(kernel);
  const usual = (): MatmulTile =>
    shareOf(kernel)?.of === 'rest'
      ? chooseRestTile(shape, target)
      : chooseMatmulTile(shape, target, choices.memory?.get(matmulClass(kernel)));
  const tile = choices.tile ?? usual();
  const isUnrolled = choices.unrolled ?? (!target.software && isWrittenOut(tile, shape));
  return tiledProduct(kernel, target, tile, isUnrolled);
}

function tiledProduct(
  kernel: MatmulKernel<Size>,
  target: ThreadTarget,
  tile: MatmulTile,
  isUnrolled: boolean,
): ScheduledKernel {
  const { bm, bn, bk, tm, tn, slices } = tile;
  const dtype = kernel.accDtype;
  const threads = tileThreads(tile);
  const { operands, steps, ...frame } = productFrame(kernel, { ...tile, threads }, target);
  const empty = { kernel, accumulators: [], grid: frame.grid };
  if (frame.grid.extent === 0)
    return { ...empty, threads: { name: 'lane', extent: 1 }, shared: [], body: [] };
  // Threads with fewer results have no registers to spare, or wait longer than they save.
  const inBlocks = isUnrolled && tm * tn === 64;
  const loaders = inBlocks ? blockLoaders(operands, bk, threads) : [];
  const padding = tilePadding(tile, target);
  const batch = variable('batch');
  // Threads of a software adapter run one after the other: loading ahead gains nothing.
  const isLooped = target.software;
  const place = { bk, batch, threads, padding, dtype, isLooped, isNumbered: isUnrolled };
  const [a, b] = operands.map(
    ({ operand: { name }, ...each }, i) =>
      new Slab({ ...place, ...each, name, loaders: loaders[i] }),
  );
  const results = registerBlock('c', tm, tn / 4);
  const [rows, columns] = [bm / tm, bn / tn];
  const group = (name: string, by: number): IndexExpr => sum(variable(name), whole(by));
  const multiply = eachRow({ bk, isUnrolled, slices }, (row) =>
    addProducts(
      results,
      (g) => a.vectorAt(row, group('row', g * rows)),
      (g) => b.vectorAt(row, group('column', g * columns)),
    ),
  );
  const stores = results.flatMap((names, i) =>
    names.map((name, g): ScheduledStmt => {
      const down = (i >> 2) * rows * 4 + (i & 3);
      const m = sum(variable('first_m'), times(variable('row'), 4), whole(down));
      const n = sum(variable('first_n'), times(variable('column'), 4), whole(g * columns * 4));
      return { kind: 'visit', routine: 'store_c', at: [batch, m, n], of: [register(name)] };
    }),
  );
  const sums = slices > 1 ? addSlices(results.flat(), threads / slices, slices) : null;
  return {
    ...empty,
    threads: { name: 'lane', extent: threads },
    shared: [
      a.shared,
      b.shared,
      ...frame.shared,
      ...(sums === null ? [] : [{ name: SUMS, dtype, length: sums.length, width: 4 } as const]),
    ],
    registers: dtype,
    routines: frame.routines,
    body: [
      ...frame.begin,
      ...placeThread(tile, target),
      { kind: 'clear', of: results.flat() },
      ...walkSlabs({ slabs: [a, b], steps, bk, multiply: [multiply] }),
      ...(sums === null
        ? stores
        : [
            sums.loop,
            {
              kind: 'when',
              all: [{ kind: 'first', index: variable('slice') }],
              body: stores,
            } as const,
          ]),
    ],
  };
}

const SUMS = 'sums.';

/** Adds the results of all slices into slice 0, halving their number each round; with vectors of shared memory for it. */
function addSlices(
  names: readonly string[],
  perSlice: number,
  slices: number,
): { readonly length: number; readonly loop: ScheduledStmt } {
  const [slice, half, lane] = [variable('slice'), variable('half'), variable('lane')];
  const count = names.length;
  const cell = (thread: IndexExpr, i: number): Cell => ({
    array: SUMS,
    at: sum(times(thread, count), whole(i)),
  });
  const write: ScheduledBody = names.map((name, i) => ({
    kind: 'write',
    to: cell(minus(lane, half, perSlice), i),
    value: register(name),
  }));
  const read: ScheduledBody = names.map((name, i) => ({
    kind: 'add',
    to: name,
    value: { kind: 'read', from: cell(lane, i) },
  }));
  const body: ScheduledBody = [
    {
      kind: 'when',
      all: [below(half, sum(slice, whole(1))), below(slice, times(half, 2))],
      body: write,
    },
    { kind: 'barrier' },
    { kind: 'when', all: [below(slice, half)], body: read },
    { kind: 'barrier' },
  ];
  const loop = { kind: 'loop', name: 'half', begin: whole(slices / 2), ends: [whole(1)] } as const;
  return {
    length: (slices / 2) * perSlice * count,
    loop: { ...loop, pace: 'halve', body },
  };
}
