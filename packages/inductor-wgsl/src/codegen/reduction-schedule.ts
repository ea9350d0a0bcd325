/**
 * @file How the threads of a reduction kernel share its loops, as data.
 *
 * A workgroup is `outerThreads × innerThreads`: outer threads work on different outer points, inner
 * threads share the inner loop of one and combine their partial results. Rows (contiguous along the
 * inner loop) put neighbouring threads on neighbouring inner elements, columns on neighbouring outer
 * points, so that a subgroup's loads fall together either way.
 */
import {
  postorder,
  stmtRoots,
  type Expr,
  type IndexExpr,
  type LoopKernel,
  type Stmt,
} from '@tessera/inductor-core';
import { laneAccess } from './lane-stride.js';
import { extent, fastest } from './loop-vars.js';
import type { WgslTarget } from './target.js';

/** See the file header. Thread counts are powers of two. */
export interface ReductionSchedule {
  /** Variable spread over vector lanes: the fastest inner one, the fastest outer one, or none. */
  readonly lanes: 'inner' | 'outer' | 'none';
  /** Which of the two moves fastest with the thread number. */
  readonly fast: 'inner' | 'outer';
  readonly outerThreads: number;
  readonly innerThreads: number;
  /**
   * When not zero: the inner loop is unrolled into this many steps and what it loads stays in registers
   * from stage to stage.
   */
  readonly steps: number;
}

const THREADS = 256;
/** Most unrolled steps; more would spill registers. */
const MAX_STEPS = 4;

const floorPower = (x: number): number => 2 ** Math.max(0, Math.floor(Math.log2(Math.max(1, x))));
const ceilPower = (x: number): number => 2 ** Math.ceil(Math.log2(Math.max(1, x)));

interface Traffic {
  /** Accesses that are contiguous along the fastest inner or outer variable. */
  inner: number;
  outer: number;
  innerVectors: boolean;
  outerVectors: boolean;
}

/** Counts what the inner stages access along which variable. */
function measure(kernel: LoopKernel): Traffic {
  const traffic: Traffic = { inner: 0, outer: 0, innerVectors: false, outerVectors: false };
  const inner = fastest(kernel.inner);
  const outer = fastest(kernel.outer);
  const stmts: readonly Stmt[] = kernel.stages
    .filter((stage) => stage.kind === 'inner')
    .flatMap((stage) => stage.body);
  const indices: IndexExpr[] = [];
  for (const expr of postorder(stmts.flatMap(stmtRoots)))
    if (expr.kind === 'load') indices.push(expr.index);
  for (const stmt of stmts) if (stmt.kind === 'store') indices.push(stmt.index);
  const none: ReadonlySet<string> = new Set();
  const nowhere: ReadonlyMap<string, number> = new Map();
  const facts = (lane: string) => ({
    lane,
    scattered: none,
    alignments: nowhere,
    isUniform: (_: Expr) => false,
  });
  for (const index of indices) {
    const along = inner === null ? null : laneAccess(index, facts(inner.name));
    const across = outer === null ? null : laneAccess(index, facts(outer.name));
    if (along?.stride === 1) {
      traffic.inner++;
      traffic.innerVectors ||= along.alignment === 4;
    } else if (across?.stride === 1 && along?.stride !== 0) {
      traffic.outer++;
      traffic.outerVectors ||= across.alignment === 4;
    }
  }
  traffic.innerVectors &&= inner!.size % 4 === 0;
  traffic.outerVectors &&= outer!.size % 4 === 0;
  return traffic;
}

/** Chooses the schedule of a kernel with inner stages. */
export function chooseReductionSchedule(kernel: LoopKernel, target: WgslTarget): ReductionSchedule {
  const traffic = measure(kernel);
  return traffic.outer > traffic.inner
    ? columns(kernel, traffic, target)
    : rows(kernel, traffic, target);
}

function rows(kernel: LoopKernel, traffic: Traffic, target: WgslTarget): ReductionSchedule {
  const lanes = traffic.innerVectors ? 'inner' : 'none';
  const points = extent(kernel.outer);
  const units = extent(kernel.inner) / (lanes === 'inner' ? 4 : 1);
  // Few long rows: the largest workgroup the device has.
  const most =
    points < target.parallelism && units >= 2048
      ? Math.min(1024, target.maxWorkgroupThreads)
      : THREADS;
  const innerThreads = Math.min(most, floorPower(units));
  const outerThreads = Math.max(1, Math.min(THREADS / innerThreads, ceilPower(points)));
  const steps = Math.ceil(units / innerThreads);
  const rereads = kernel.stages.filter((stage) => stage.kind === 'inner').length > 1;
  return {
    lanes,
    fast: 'inner',
    outerThreads,
    innerThreads,
    steps: rereads && steps <= MAX_STEPS ? steps : 0,
  };
}

function columns(kernel: LoopKernel, traffic: Traffic, target: WgslTarget): ReductionSchedule {
  const points = extent(kernel.outer);
  const length = extent(kernel.inner);
  const wide = traffic.outerVectors && points >= 32 * target.parallelism;
  const units = wide ? points / 4 : points;
  const wanted = Math.max(1, (target.parallelism * THREADS) / units);
  const innerThreads = Math.max(1, Math.min(16, floorPower(length / 4), ceilPower(wanted)));
  const outerThreads = Math.max(1, Math.min(THREADS / innerThreads, ceilPower(units)));
  return { lanes: wide ? 'outer' : 'none', fast: 'outer', outerThreads, innerThreads, steps: 0 };
}
