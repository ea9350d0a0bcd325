/**
 * @file The vectors of a scheduled kernel: along what they lie, and what is accessed in them.
 */
import {
  type AccessGroup,
  type Expr,
  indexSymbols,
  kernelLoops,
  LaneContext,
  type Lanes,
  loopsByRole,
  type Routine,
  type ScheduledBody,
  type ScheduledKernel,
  type SizedLoop,
  stmtRoots,
} from '@tessera/inductor-core';
import type { Loaded } from '../values/given-text.js';

/** The lanes of a kernel, which has one kind of vectors. */
interface KernelLanes {
  /** Null where there are no vectors. */
  readonly lanes: Lanes | null;
  /** Accumulators are started within vectors: every lane has results of its own. */
  readonly holdsState: boolean;
}

/** Finds the lanes of a program. */
function findLanes(body: ScheduledBody): KernelLanes {
  for (const stmt of body) {
    if (stmt.kind === 'vector')
      return { lanes: stmt.lanes, holdsState: stmt.body.some(({ kind }) => kind === 'start') };
    if (stmt.kind !== 'loop' && stmt.kind !== 'when' && stmt.kind !== 'point') continue;
    const found = findLanes(stmt.body);
    if (found.lanes !== null) return found;
  }
  return { lanes: null, holdsState: false };
}

/** The variable that lies across the lanes, if they are all of it: then it is 0 in every thread. */
function stillLane(loops: readonly SizedLoop[], lanes: Lanes | null): string | null {
  if (lanes === null || lanes.step !== 1) return null;
  const isWhole = loops.some(({ name, size }) => name === lanes.lane && size === lanes.width);
  return isWhole ? lanes.lane : null;
}

/** Accesses by whether they are in vectors. */
function scheduledAccesses(
  body: ScheduledBody,
  inside: LaneContext,
  outside: LaneContext,
): AccessGroup[] {
  const groups: AccessGroup[] = [];
  const visit = (stmts: ScheduledBody, context: LaneContext): void => {
    const stores = stmts.filter((stmt) => stmt.kind === 'store');
    const exprs = stmts.flatMap((stmt) => (stmt.kind === 'update' ? [stmt.value] : []));
    groups.push({ context, exprs, stores });
    for (const stmt of stmts) {
      if (stmt.kind === 'vector') visit(stmt.body, inside);
      else if (stmt.kind === 'loop' || stmt.kind === 'when' || stmt.kind === 'point')
        visit(stmt.body, context);
    }
  };
  visit(body, outside);
  return groups;
}

/** A body with what its code depends on: that of a scheduled kernel, or of a routine. */
export interface SeenKernel {
  readonly scheduled: ScheduledKernel;
  readonly lanes: Lanes | null;
  /** See `stillLane`. */
  readonly still: string | null;
  readonly context: LaneContext;
  readonly roots: readonly Expr[];
  /** Variables of inner loops: what depends on them is not known before. */
  readonly inner: ReadonlySet<string>;
  readonly accesses: readonly AccessGroup[];
  readonly routines: readonly SeenRoutine[];
  /** See `Routine`. */
  readonly isQuick?: true;
  /** What the routine gives, where that is not as sums are typed. */
  readonly loaded?: Loaded;
}

/** A routine, and its body. */
export interface SeenRoutine {
  readonly routine: Routine;
  readonly seen: SeenKernel;
}

/** Sees a scheduled kernel: of loops, or one whose values are those of its routines. */
export function seeKernel(scheduled: ScheduledKernel): SeenKernel {
  const { kernel, body } = scheduled;
  if (kernel.kind !== 'loop') {
    const routines = (scheduled.routines ?? []).map((each) => seeRoutine(scheduled, each));
    const accesses = routines.flatMap(({ seen }) => seen.accesses);
    const context = new LaneContext({}, []);
    return { ...NOTHING_SEEN, scheduled, context, inner: new Set(), accesses, routines };
  }
  const roots = kernel.stages.flatMap(({ body: stmts }) => stmts).flatMap(stmtRoots);
  const { lanes, holdsState } = findLanes(body);
  const context = new LaneContext(
    lanes === null ? {} : { lane: lanes.lane, step: lanes.step, vectorAccs: holdsState },
    roots,
  );
  const accesses = scheduledAccesses(body, context, new LaneContext({}, []));
  const still = stillLane(kernelLoops(kernel), lanes);
  const inner = new Set(loopsByRole(kernel).reduced.map(({ name }) => name));
  return { scheduled, lanes, still, context, roots, inner, accesses, routines: [] };
}

const NOTHING_SEEN = { lanes: null, still: null, roots: [] } as const;

/** Sees a routine of a kernel; its vector may lie along a position, of which variables are made for each element. */
export function seeRoutine(
  scheduled: ScheduledKernel,
  routine: Routine,
  loaded?: Loaded,
): SeenRoutine {
  const { body, results, isSingle, isQuick } = routine;
  const vector = body.find((stmt) => stmt.kind === 'vector');
  const stmts = [...body, ...(vector?.body ?? [])];
  const lets = (vector?.body ?? []).filter((stmt) => stmt.kind === 'let');
  const lanes = vector?.lanes ?? null;
  const isOfKernel = kernelLoops(scheduled.kernel).some(({ name }) => name === lanes?.lane);
  const exprs = stmts.flatMap((stmt) => (stmt.kind === 'give' ? [stmt.value] : []));
  const stores = stmts.filter((stmt) => stmt.kind === 'store');
  const roots = [...exprs, ...stores.flatMap(stmtRoots)];
  const scattered = lets.filter(({ index }) => indexSymbols(index).has(lanes!.lane));
  const context = new LaneContext(
    {
      ...(isOfKernel
        ? { lane: lanes!.lane }
        : { scattered: new Set(scattered.map(({ name }) => name)) }),
      vectorAccs: results.length > 0 && !isSingle,
    },
    roots,
  );
  const seen: SeenKernel = {
    ...NOTHING_SEEN,
    scheduled,
    lanes,
    context,
    roots,
    inner: new Set(lets.map(({ name }) => name)),
    accesses: [{ context, exprs, stores }],
    routines: [],
    ...(isQuick && { isQuick }),
    ...(loaded !== undefined && { loaded }),
  };
  return { routine, seen };
}
