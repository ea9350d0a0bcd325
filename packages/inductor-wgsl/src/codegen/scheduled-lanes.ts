/**
 * @file The vectors of a scheduled kernel: along what they lie, and what is accessed in them.
 */
import {
  type AccessGroup,
  type Expr,
  kernelLoops,
  LaneContext,
  type Lanes,
  type ScheduledBody,
  type ScheduledKernel,
  type SizedLoop,
  stmtRoots,
} from '@tessera/inductor-core';

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

/** A scheduled kernel with what its code depends on. */
export interface SeenKernel {
  readonly scheduled: ScheduledKernel;
  readonly lanes: Lanes | null;
  /** See `stillLane`. */
  readonly still: string | null;
  readonly context: LaneContext;
  readonly roots: readonly Expr[];
  readonly accesses: readonly AccessGroup[];
}

/** Sees a scheduled loop kernel. */
export function seeKernel(scheduled: ScheduledKernel): SeenKernel {
  const { kernel, body } = scheduled;
  if (kernel.kind !== 'loop') throw new TypeError(`${kernel.kind} kernels have no schedule yet`);
  const roots = kernel.stages.flatMap(({ body: stmts }) => stmts).flatMap(stmtRoots);
  const { lanes, holdsState } = findLanes(body);
  const context = new LaneContext(
    lanes === null ? {} : { lane: lanes.lane, step: lanes.step, vectorAccs: holdsState },
    roots,
  );
  const accesses = scheduledAccesses(body, context, new LaneContext({}, []));
  const still = stillLane(kernelLoops(kernel), lanes);
  return { scheduled, lanes, still, context, roots, accesses };
}
