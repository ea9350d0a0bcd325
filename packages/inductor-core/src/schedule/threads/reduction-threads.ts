/**
 * @file How the threads of a reduction kernel share its loops, as data.
 *
 * A workgroup is `outerThreads × innerThreads`: outer threads work on different outer points, inner
 * threads share the inner loop of one and combine their partial results. Rows (contiguous along the
 * inner loop) put neighbouring threads on neighbouring inner elements, columns on neighbouring outer
 * points, so that a subgroup's loads fall together either way.
 */
import { type Size, sizeHint } from '@tessera/shared';
import type { Expr, Stmt } from '../../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import type { LoopKernel } from '../../ir/kernel.js';
import { extent, fastest, fillsLanes, moves } from '../../ir/loop-vars.js';
import { indexSymbols, postorder, stmtRoots } from '../../ir/walk.js';
import { reductionOf } from '../reductions.js';
import { laneAccess } from './lane-access.js';
import { pairedPlace } from './paired-elements.js';
import { carrierOf, ceilPower, type ThreadTarget } from './thread-target.js';

/** See the file header. Thread counts are powers of two. */
export interface ReductionThreads {
  /**
   * Variable spread over vector lanes: the fastest inner one, the fastest outer one, or none. `strided`
   * lanes are `innerThreads` elements of the one inner variable apart: rows that no vector access fits
   * still get four independent sums.
   */
  readonly lanes: 'inner' | 'outer' | 'strided' | 'none';
  /** Which of the two moves fastest with the thread number. */
  readonly fast: 'inner' | 'outer';
  readonly outerThreads: number;
  readonly innerThreads: number;
  /**
   * When not zero: the inner loop is unrolled into this many steps, so that a thread waits for all of its loads at once,
   * and what it loads stays in registers from stage to stage.
   */
  readonly steps: number;
}

/** Threads of an ordinary workgroup. */
const THREADS = 256;
/** Threads that fill one of the device's parallel units. */
const THREADS_PER_UNIT = 1024;
/** Most unrolled steps: of elements that are kept for later stages, where more would spill registers, and of others. */
const MAX_STEPS = { kept: 8, once: 16 };
/** Elements that a thread should take so that starting it pays. */
const ELEMENTS_PER_THREAD = 16;
/** Threads for a long row of pairs: so many, or enough that each has so many elements, eight accesses of 16 bytes. */
const PAIRED = { threads: 128, elements: 64 };
/**
 * Steps of a column that a thread should take, each of four elements or of one: many where all of their loads can be under
 * way at once, which those behind a store cannot.
 */
const STEPS_PER_THREAD = { few: 4, many: 16 };
/** Threads of a workgroup on a software adapter. */
const SOFTWARE_THREADS = 16;
/** Elements per thread from which strided lanes pay. */
const STRIDED_FROM = 8;
/** Outer threads that make a full 128-byte access, with vectors and without. */
const FULL_ACCESS = { vectors: 8, scalars: 32 };

const floorPower = (x: number): number => 2 ** Math.max(0, Math.floor(Math.log2(Math.max(1, x))));

interface Traffic {
  /** Accesses that are contiguous along the fastest inner or outer variable. */
  inner: number;
  outer: number;
  innerVectors: boolean;
  outerVectors: boolean;
  /** Elements that are loaded for one outer point alone: words of packed weights are few. */
  loads: number;
  /** Some of them as pairs of vectors (`pairedHalves`). */
  innerPairs: boolean;
}

/** How many elements an outer point loads at an index; none where all points load the same. */
function loadsOf(index: IndexExpr, { outer, inner }: LoopKernel<Size>): number {
  const symbols = indexSymbols(index);
  const isUsed = ({ name }: SizedLoop): boolean => symbols.has(name);
  return outer.some(isUsed) ? sizeHint(extent(inner.filter(isUsed))) : 0;
}

/** Counts what the inner stages access along which variable. */
function measure(kernel: LoopKernel<Size>): Traffic {
  const traffic: Traffic = {
    inner: 0,
    outer: 0,
    innerVectors: false,
    outerVectors: false,
    loads: 0,
    innerPairs: false,
  };
  const inner = fastest(kernel.inner);
  const outer = fastest(kernel.outer);
  const stmts: readonly Stmt[] = kernel.stages
    .filter((stage) => stage.kind === 'inner')
    .flatMap((stage) => stage.body);
  const indices: IndexExpr[] = [];
  for (const expr of postorder(stmts.flatMap(stmtRoots)))
    if (expr.kind === 'load') {
      indices.push(expr.index);
      traffic.loads += loadsOf(expr.index, kernel);
    }
  for (const stmt of stmts) if (stmt.kind === 'store') indices.push(stmt.index);
  const none: ReadonlySet<string> = new Set();
  const nowhere: ReadonlyMap<string, number> = new Map();
  const facts = (lane: string) => ({
    lane,
    step: 1,
    scattered: none,
    alignments: nowhere,
    isUniform: (_: Expr) => false,
  });
  // A variable of one vector begins at 0 only.
  const still = inner?.size === 4 ? inner.name : null;
  for (const index of indices) {
    const along = inner === null ? null : laneAccess(index, facts(inner.name));
    const across = outer === null ? null : laneAccess(index, facts(outer.name));
    if (along?.stride === 1) {
      // A vector that all outer points share comes from cache: it has no say.
      if (across?.stride !== 0) {
        traffic.inner++;
        traffic.innerPairs ||= still !== null && pairedPlace(index, 4, still)?.part === 1;
      }
      traffic.innerVectors ||= along.alignment === 4;
    } else if (across?.stride === 1 && along?.stride !== 0) {
      traffic.outer++;
      traffic.outerVectors ||= across.alignment === 4;
    }
  }
  traffic.innerVectors &&= fillsLanes(inner!);
  traffic.outerVectors &&= fillsLanes(outer!);
  return traffic;
}

/** Chooses the schedule of a kernel with inner stages. */
export function chooseReductionThreads(
  kernel: LoopKernel<Size>,
  target: ThreadTarget,
): ReductionThreads {
  const traffic = measure(kernel);
  return traffic.outer > traffic.inner
    ? columns(kernel, traffic, target)
    : rows(kernel, traffic, target);
}

/** Threads for which the device has room, the state of all reductions in workgroup memory included. */
function largestWorkgroup(kernel: LoopKernel<Size>, width: number, target: ThreadTarget): number {
  const variables = new Map<string, number>();
  for (const stage of kernel.stages) {
    const counts = new Map<string, number>();
    for (const stmt of stage.body) {
      if (stmt.kind !== 'reduce') continue;
      const { op, value } = stmt;
      const options = { op, dtype: value.dtype, target: target.arithmetic };
      for (const { dtype } of reductionOf(options).part) {
        const type = carrierOf(dtype);
        counts.set(type, (counts.get(type) ?? 0) + 1);
      }
    }
    for (const [type, count] of counts)
      variables.set(type, Math.max(count, variables.get(type) ?? 0));
  }
  const perThread = [...variables.values()].reduce((sum, count) => sum + count, 0) * 4 * width;
  const room = perThread === 0 ? Infinity : target.maxWorkgroupBytes / perThread;
  return floorPower(Math.min(target.maxWorkgroupThreads, THREADS_PER_UNIT, room));
}

/** Whether later stages go through the inner loop again. */
function isReread({ stages }: LoopKernel<Size>): boolean {
  return stages.filter(({ kind }) => kind === 'inner').length > 1;
}

/** Whether a kernel stores something at each step of its inner loop. */
function storesInside({ stages }: LoopKernel<Size>): boolean {
  return stages.some(
    ({ kind, body }) => kind === 'inner' && body.some((stmt) => stmt.kind === 'store'),
  );
}

/**
 * Steps of an inner loop of so many units, if they are few and known, else 0. Loads of unrolled steps are under way at
 * once, and what is read again is still there.
 */
function unrolledSteps(kernel: LoopKernel<Size>, units: number, threads: number): number {
  const most = isReread(kernel) ? MAX_STEPS.kept : MAX_STEPS.once;
  const isKnown = typeof extent(kernel.inner) === 'number';
  return isKnown && units <= threads * most ? Math.ceil(units / threads) : 0;
}

/**
 * Products with packed weights: how many of a column a thread should take, so that its last sum and what it has in common
 * with others pay, and threads for each of the device's parallel units, which matter more.
 */
const PACKED = { products: 64, threadsPerUnit: 512 };

/** Threads for sums of `length` products with packed weights, whose outer points are several columns each. */
export function choosePackedThreads(
  kernel: LoopKernel<Size>,
  target: ThreadTarget,
  length: number,
): ReductionThreads {
  const points = sizeHint(extent(kernel.outer));
  const units = sizeHint(extent(kernel.inner)) / 4;
  const most = Math.min(THREADS, largestWorkgroup(kernel, 1, target), floorPower(units));
  let innerThreads = Math.min(most, floorPower(length / PACKED.products));
  while (innerThreads < most && points * innerThreads < target.parallelism * PACKED.threadsPerUnit)
    innerThreads *= 2;
  const outerThreads = Math.max(1, Math.min(THREADS / innerThreads, ceilPower(points)));
  const steps = unrolledSteps(kernel, units, innerThreads) === 1 ? 1 : 0;
  return { lanes: 'inner', fast: 'inner', outerThreads, innerThreads, steps };
}

function rows(kernel: LoopKernel<Size>, traffic: Traffic, target: ThreadTarget): ReductionThreads {
  const lanes = traffic.innerVectors ? 'inner' : 'none';
  const points = sizeHint(extent(kernel.outer));
  const elements = sizeHint(extent(kernel.inner));
  const units = elements / (lanes === 'inner' ? 4 : 1);
  if (target.software) return softwareSchedule(lanes, 'inner', points);
  const most = Math.min(largestWorkgroup(kernel, 1, target), floorPower(units));
  const taken = traffic.loads > 0 ? Math.min(elements, traffic.loads) : elements;
  // Pairs have half as many points as elements.
  const wanted = traffic.innerPairs
    ? Math.min(
        floorPower((2 * elements) / ELEMENTS_PER_THREAD),
        Math.max(PAIRED.threads, floorPower(traffic.loads / PAIRED.elements)),
      )
    : floorPower(taken / ELEMENTS_PER_THREAD);
  let innerThreads = Math.min(THREADS, wanted, most);
  // Few rows: more threads for each, until the device is full or a row has no more work to give.
  while (innerThreads < most && points * innerThreads < target.parallelism * THREADS_PER_UNIT)
    innerThreads *= 2;
  const stepsOf = (threads: number): number => unrolledSteps(kernel, units, threads);
  if (isReread(kernel) && stepsOf(most) > 0) while (stepsOf(innerThreads) === 0) innerThreads *= 2;
  const outerThreads = Math.max(1, Math.min(THREADS / innerThreads, ceilPower(points)));
  const steps = stepsOf(innerThreads);
  const alone = kernel.inner.filter(moves).length === 1;
  const strided = lanes === 'none' && alone && steps === 0 && units >= STRIDED_FROM * innerThreads;
  return { lanes: strided ? 'strided' : lanes, fast: 'inner', outerThreads, innerThreads, steps };
}

function columns(
  kernel: LoopKernel<Size>,
  traffic: Traffic,
  target: ThreadTarget,
): ReductionThreads {
  const points = sizeHint(extent(kernel.outer));
  const vectors = traffic.outerVectors;
  const units = vectors ? points / 4 : points;
  if (target.software) return softwareSchedule(vectors ? 'outer' : 'none', 'outer', units);
  const full = vectors ? FULL_ACCESS.vectors : FULL_ACCESS.scalars;
  const isPure = !storesInside(kernel);
  // Few columns: half an access, for twice as many workgroups.
  const isNarrow = isPure && units < target.parallelism * full;
  const access = Math.min(isNarrow ? full / 2 : full, ceilPower(units));
  const wanted = ceilPower((target.parallelism * THREADS_PER_UNIT) / units);
  const most = Math.max(1, largestWorkgroup(kernel, vectors ? 4 : 1, target) / access);
  const elements = sizeHint(extent(kernel.inner));
  const few = elements / STEPS_PER_THREAD.few;
  const many = Math.max(elements / STEPS_PER_THREAD.many, Math.min(few, THREADS / access));
  const innerThreads = Math.min(most, wanted, floorPower(isPure ? many : few));
  const outerThreads = Math.max(access, Math.min(THREADS / innerThreads, ceilPower(units)));
  const steps = unrolledSteps(kernel, elements, innerThreads);
  return { lanes: vectors ? 'outer' : 'none', fast: 'outer', outerThreads, innerThreads, steps };
}

/** One thread walks a whole inner loop: no barriers. */
function softwareSchedule(
  lanes: ReductionThreads['lanes'],
  fast: ReductionThreads['fast'],
  points: number,
): ReductionThreads {
  const outerThreads = Math.min(SOFTWARE_THREADS, ceilPower(points));
  return { lanes, fast, outerThreads, innerThreads: 1, steps: 0 };
}
