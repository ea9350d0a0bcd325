/**
 * @file Pointwise kernels on threads: one thread for each outer point, or for four points along the last variable.
 *
 * Four that follow each other are loaded and stored as vectors. Where nothing can be (rows of odd lengths, views that begin
 * anywhere), threads of large kernels take four points a subgroup apart: memory needs that many loads on their way, and
 * what is the same in a row is computed once for all four.
 */
import { type Size, isMultiple, sizeCeilDiv, sizeHint, sizeMul } from '@tessera/shared';
import type { Stmt } from '../../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import type { LoopKernel } from '../../ir/kernel.js';
import { extent, fastest, fillsLanes, moves } from '../../ir/loop-vars.js';
import { postorder, stmtRoots } from '../../ir/walk.js';
import { modulo, over, placesOf, plus, times, variable, whole } from '../kernel/places.js';
import type {
  Condition,
  Lanes,
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

/** `point` of each thread counts units, which are `units`. */
function unitsInOrder(
  units: Size,
  places: ScheduledBody,
  { maxWorkgroupsPerDimension }: ThreadTarget,
): Placement {
  const groups = sizeCeilDiv(units, POINTWISE_THREADS);
  const { hasSurplus } = foldGrid(groups, maxWorkgroupsPerDimension);
  const exact = !hasSurplus && isMultiple(units, POINTWISE_THREADS);
  const inside: Condition = { kind: 'below', index: variable('point'), limit: whole(units) };
  const place = plus(times(variable('group'), POINTWISE_THREADS), variable('lane'));
  const body: ScheduledBody = [
    { kind: 'let', name: 'point', index: place },
    ...(exact ? [] : [{ kind: 'exit', unless: [inside] } as const]),
    ...places,
  ];
  return { groups, hasSurplus, body };
}

/** Points in order, `width` of them a unit. */
function inOrder({ outer }: LoopKernel<Size>, width: 1 | 4, target: ThreadTarget): Placement {
  const lane = width === 4 ? fastest(outer)!.name : undefined;
  const places = placesOf(outer, variable('point'), { lane });
  return unitsInOrder(sizeCeilDiv(extent(outer), width), places, target);
}

/** How far apart the four points of a thread are that are no vector; and the smallest rows and kernels to have such. */
const APART = { step: 32, row: 512, points: 2 ** 20 };

/** Whether threads take four points that are no vector. */
function isApart(outer: readonly SizedLoop[]): boolean {
  const row = fastest(outer);
  return row !== null && sizeHint(row.size) >= APART.row && sizeHint(extent(outer)) >= APART.points;
}

/** Four points of a row are a unit, `APART.step` of which take turns. */
function apart({ outer }: LoopKernel<Size>, target: ThreadTarget): Placement {
  const row = fastest(outer)!;
  const rows = outer.filter((v) => v !== row);
  const perRow = sizeMul(sizeCeilDiv(row.size, 4 * APART.step), APART.step);
  const set = (name: string, index: IndexExpr): ScheduledStmt => ({ kind: 'let', name, index });
  const [point, unit] = [variable('point'), variable('unit')];
  const places = [
    set('unit', modulo(point, perRow)),
    set(row.name, plus(times(over(unit, APART.step), 4 * APART.step), modulo(unit, APART.step))),
    ...placesOf(rows, over(point, perRow)),
  ];
  return unitsInOrder(sizeMul(extent(rows), perRow), places, target);
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
  const placed = (placement: Placement, body: ScheduledBody): ScheduledKernel => ({
    ...empty,
    grid: {
      name: 'group',
      extent: placement.groups,
      ...(placement.hasSurplus && { surplus: true }),
    },
    threads: { name: 'lane', extent: POINTWISE_THREADS },
    body: [...placement.body, ...body],
  });
  const within = (valid: Lanes['valid'], step: number): ScheduledStmt => {
    const { name } = lane!;
    const lanes = { lane: name, across: name, width: 4, step, groups: 1, valid };
    return { kind: 'vector', lanes, body: stores };
  };
  const cut = (): Lanes['valid'] => ({ index: variable(lane!.name), limit: lane!.size });
  if (width === 1 && crossing === null && isApart(kernel.outer))
    return placed(apart(kernel, target), [within(cut(), APART.step)]);
  const placement =
    crossing === null
      ? inOrder(kernel, width, target)
      : patches(kernel.outer, crossing, width, target);
  return placed(placement, width === 4 ? [within(isRagged ? cut() : 4, 1)] : stores);
}
