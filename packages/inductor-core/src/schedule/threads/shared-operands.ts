/**
 * @file Reductions whose points share operands: a row times the columns of a matrix.
 *
 * Threads that work on several columns read and convert the row once for all of them, and have more of the matrix under
 * way.
 */
import type { Size } from '@tessera/shared';
import type { Expr } from '../../ir/expr.js';
import type { LoopKernel } from '../../ir/kernel.js';
import { extent, fastest } from '../../ir/loop-vars.js';
import { isMultiple } from '../../ir/size-units.js';
import { operands, postorder } from '../../ir/walk.js';
import { namesAny } from './lane-context.js';
import { pointsTogether } from './points-together.js';
import { chooseReductionThreads, readsRows, type ReductionThreads } from './reduction-threads.js';
import type { ThreadTarget } from './thread-target.js';

/** A kernel whose points are worked on several at a time, by as many threads as one was. */
export interface Gathered {
  readonly kernel: LoopKernel<Size>;
  readonly threads: ReductionThreads;
}

/** Most points at a time, and most sums of a thread. */
const MOST = { points: 4, sums: 8 };
/** Workgroups for each that keeps the device busy that have to be left. */
const GROUPS_LEFT = 2;
/** Bytes of a sum in workgroup memory, with what its precision may need. */
const SUM_BYTES = 8;

/** The kernel with its points together where that pays. */
export function gatherPoints(kernel: LoopKernel<Size>, target: ThreadTarget): Gathered {
  const threads = chooseReductionThreads(kernel, target);
  const count = pointsOf(kernel, threads, target);
  return { kernel: count === 1 ? kernel : pointsTogether(kernel, count), threads };
}

/** How many points are worked on at a time. */
function pointsOf(
  kernel: LoopKernel<Size>,
  { innerThreads, outerThreads }: ReductionThreads,
  { software, parallelism, maxWorkgroupBytes }: ThreadTarget,
): number {
  const lane = fastest(kernel.outer);
  const inner = fastest(kernel.inner);
  const points = extent(kernel.outer);
  if (software || lane === null || inner === null || typeof points !== 'number') return 1;
  const stages = kernel.stages.filter(({ kind }) => kind === 'inner');
  const sums = stages.flatMap(({ body }) => body);
  const areSums = sums.every((stmt) => stmt.kind === 'reduce' && stmt.op === 'sum');
  if (stages.length !== 1 || !areSums || !readsRows(kernel)) return 1;
  const roots = sums.map(({ value }) => value);
  const own = dependent(roots, lane.name);
  const along = dependent(roots, inner.name);
  const loads = postorder(roots).filter(({ kind }) => kind === 'load');
  const isShared = loads.some((load) => !own.has(load) && along.has(load));
  if (!isShared || !loads.some((load) => own.has(load))) return 1;
  const ownSums = roots.filter((root) => own.has(root)).length;
  const fits = (count: number): boolean => {
    const made = count * ownSums;
    const bytes = (made + roots.length - ownSums) * SUM_BYTES * innerThreads * outerThreads;
    return (
      made <= MOST.sums &&
      bytes <= maxWorkgroupBytes &&
      isMultiple(lane.size, count) &&
      points / count / outerThreads >= GROUPS_LEFT * parallelism
    );
  };
  let count = MOST.points;
  while (count > 1 && !fits(count)) count /= 2;
  return count;
}

/** Expressions that differ from value to value of a variable. */
export function dependent(roots: readonly Expr[], name: string): ReadonlySet<Expr> {
  const names = new Set([name]);
  const found = new Set<Expr>();
  for (const expr of postorder(roots))
    if (namesAny(expr, names) || operands(expr).some((each) => found.has(each))) found.add(expr);
  return found;
}
