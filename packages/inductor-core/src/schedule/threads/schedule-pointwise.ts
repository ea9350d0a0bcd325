/**
 * @file Pointwise kernels on threads: one thread for each outer point, or for four points along the last variable.
 */
import { type Size, isMultiple, sizeCeilDiv, sizeHint } from '@tessera/shared';
import type { Stmt } from '../../ir/expr.js';
import type { LoopKernel } from '../../ir/kernel.js';
import { extent, fastest, fillsLanes, moves } from '../../ir/loop-vars.js';
import { postorder, stmtRoots } from '../../ir/walk.js';
import { placesOf, plus, times, variable, whole } from '../kernel/places.js';
import type {
  Condition,
  ScheduledBody,
  ScheduledKernel,
  ScheduledStmt,
} from '../kernel/scheduled-kernel.js';
import { LaneContext } from './lane-context.js';
import { crossingVariable, patches } from './thread-patch.js';
import { foldGrid, type ThreadTarget } from './thread-target.js';
import { chooseVectorBuffers } from './vector-buffers.js';

/** Threads of a group. */
export const POINTWISE_THREADS = 256;

/** Where the points of a kernel are: its groups, and the variables of each thread. */
export interface Placement {
  readonly groups: Size;
  readonly hasSurplus: boolean;
  readonly body: ScheduledBody;
}

/** Points in order; `point` counts units of `width` points. */
function inOrder(kernel: LoopKernel<Size>, width: 1 | 4, target: ThreadTarget): Placement {
  const { outer } = kernel;
  const units = sizeCeilDiv(extent(outer), width);
  const groups = sizeCeilDiv(units, POINTWISE_THREADS);
  const { hasSurplus } = foldGrid(groups, target.maxWorkgroupsPerDimension);
  const point = variable('point');
  const exact = !hasSurplus && isMultiple(units, POINTWISE_THREADS);
  const inside: Condition = { kind: 'below', index: point, limit: whole(units) };
  const lane = width === 4 ? fastest(outer)!.name : undefined;
  const place = plus(times(variable('group'), POINTWISE_THREADS), variable('lane'));
  const body: ScheduledBody = [
    { kind: 'let', name: 'point', index: place },
    ...(exact ? [] : [{ kind: 'exit', unless: [inside] } as const]),
    ...placesOf(outer, point, { lane }),
  ];
  return { groups, hasSurplus, body };
}

/** Whether threads take four points each: where some buffer is then accessed by vectors. */
function isWide(kernel: LoopKernel<Size>, stores: readonly Stmt[]): boolean {
  const lane = fastest(kernel.outer);
  if (lane === null || sizeHint(lane.size) < 4) return false;
  // The only variable may end in the middle of a vector.
  const isAlone = kernel.outer.filter(moves).length === 1;
  if (!fillsLanes(lane) && !isAlone) return false;
  const context = new LaneContext({ lane: lane.name }, stores.flatMap(stmtRoots));
  return chooseVectorBuffers([{ context, exprs: [], stores }]).size > 0;
}

/** Schedules a kernel that has no inner stages. */
export function schedulePointwise(kernel: LoopKernel<Size>, target: ThreadTarget): ScheduledKernel {
  const stores = kernel.stages
    .flatMap(({ body }) => body)
    .filter((stmt): stmt is Extract<Stmt, { kind: 'store' }> => stmt.kind === 'store');
  const empty = { kernel, shared: [], accumulators: [] };
  if (extent(kernel.outer) === 0)
    return {
      ...empty,
      grid: { name: 'group', extent: 0 },
      threads: { name: 'lane', extent: 1 },
      body: [],
    };
  const lane = fastest(kernel.outer);
  const width = isWide(kernel, stores) ? 4 : 1;
  const isRagged = width === 4 && !fillsLanes(lane!);
  const exprs = postorder(stores.flatMap(stmtRoots));
  const crossing = isRagged ? null : crossingVariable(kernel.outer, exprs, stores);
  const placement =
    crossing === null
      ? inOrder(kernel, width, target)
      : patches(kernel.outer, crossing, width, target);
  const grid = { name: 'group', extent: placement.groups };
  return {
    ...empty,
    grid: placement.hasSurplus ? { ...grid, surplus: true } : grid,
    threads: { name: 'lane', extent: POINTWISE_THREADS },
    body: [...placement.body, ...(width === 4 ? [vector(lane!, isRagged, stores)] : stores)],
  };
}

function vector(
  { name, size }: { readonly name: string; readonly size: Size },
  isRagged: boolean,
  body: ScheduledBody,
): ScheduledStmt {
  const valid = isRagged ? { index: variable(name), limit: size } : 4;
  const lanes = { lane: name, across: name, width: 4, step: 1, groups: 1, valid };
  return { kind: 'vector', lanes, body };
}
