/**
 * @file Reductions whose points share operands: a row times the columns of a matrix.
 *
 * Threads that work on several columns read and convert the row once for all of them, and have more of the matrix under
 * way.
 */
import { type Size, sizeKnown } from '@tessera/shared';
import { itemSize } from '@tessera/tensor';
import type { Expr } from '../../ir/expr.js';
import type { LoopKernel } from '../../ir/kernel.js';
import { extent, fastest } from '../../ir/loop-vars.js';
import { isMultiple } from '../../ir/size-units.js';
import { operands, postorder } from '../../ir/walk.js';
import { laneAccess } from './lane-access.js';
import { namesAny } from './lane-context.js';
import { pointsTogether } from './points-together.js';
import { FEW_THREADS_PER_UNIT, readsRows } from './reduction-threads.js';
import type { ThreadTarget } from './thread-target.js';

/** A kernel whose points are worked on several at a time. */
export interface Gathered {
  readonly kernel: LoopKernel<Size>;
  /** Bytes that a step of four elements loads for its own points. */
  readonly stepBytes: number;
}

/** Most points at a time, and most sums of a thread. */
const MOST = { points: 4, sums: 8 };

/** The kernel with its points together; null where that does not pay. */
export function gatherPoints(kernel: LoopKernel<Size>, target: ThreadTarget): Gathered | null {
  const lane = fastest(kernel.outer);
  const inner = fastest(kernel.inner);
  const [points, length] = [extent(kernel.outer), extent(kernel.inner)];
  if (target.software || lane === null || inner === null) return null;
  if (typeof points !== 'number' || typeof length !== 'number') return null;
  const stages = kernel.stages.filter(({ kind }) => kind === 'inner');
  const sums = stages.flatMap(({ body }) => body);
  const areSums = sums.every((stmt) => stmt.kind === 'reduce' && stmt.op === 'sum');
  if (stages.length !== 1 || !areSums) return null;
  const roots = sums.map(({ value }) => value);
  const own = dependent(roots, lane.name);
  const along = dependent(roots, inner.name);
  const isShared = (expr: Expr): boolean =>
    expr.kind === 'load' && !own.has(expr) && along.has(expr);
  const all = postorder(roots);
  const loads = all.filter((expr) => expr.kind === 'load' && own.has(expr));
  if (loads.length === 0 || !all.some(isShared) || !readsRows(kernel)) return null;
  const ownSums = roots.filter((root) => own.has(root)).length;
  const mostThreads = Math.min(target.maxWorkgroupThreads, length / 4);
  const enough = target.parallelism * FEW_THREADS_PER_UNIT;
  let count = MOST.points;
  const fits = (): boolean =>
    count * ownSums <= MOST.sums &&
    isMultiple(lane.size, count) &&
    sizeKnown(lane.size, '>', count) === true &&
    (points / count) * mostThreads >= enough;
  while (count > 1 && !fits()) count /= 2;
  if (count === 1) return null;
  const bytes = loads.map((load) => bytesOf(load, inner.name));
  const stepBytes = count * bytes.reduce((a, b) => a + b, 0);
  return { kernel: pointsTogether(kernel, count), stepBytes };
}

/** Expressions that differ from value to value of a variable. */
export function dependent(roots: readonly Expr[], name: string): ReadonlySet<Expr> {
  const names = new Set([name]);
  const found = new Set<Expr>();
  for (const expr of postorder(roots))
    if (namesAny(expr, names) || operands(expr).some((each) => found.has(each))) found.add(expr);
  return found;
}

/** Bytes that a load reads for four elements along a variable. */
function bytesOf(load: Expr, lane: string): number {
  if (load.kind !== 'load') return 0;
  const { stride } = laneAccess(load.index, {
    lane,
    step: 1,
    scattered: new Set(),
    alignments: new Map(),
    isUniform: () => false,
  });
  return itemSize(load.dtype) * (stride === 0 ? 1 : 4);
}
