/**
 * @file How the threads of a pointwise kernel cover its points where some buffer is contiguous along another variable
 * than the fastest (a transpose).
 *
 * Each subgroup takes a patch of 8 × 4 points, so that both directions touch whole 32-byte sectors and what the patch of
 * a group loads is used up while it is in cache.
 */
import {
  type Size,
  isMultiple,
  sizeCeilDiv,
  sizeFloorDiv,
  sizeHint,
  sizeMul,
  sizeProduct,
} from '@tessera/shared';
import type { Expr, Stmt } from '../../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import { extent, fastest } from '../../ir/loop-vars.js';
import { modulo, over, placesOf, plus, times, variable, whole } from '../kernel/places.js';
import type { Condition, ScheduledStmt } from '../kernel/scheduled-kernel.js';
import { laneAccess } from './lane-access.js';
import type { Placement } from './schedule-pointwise.js';
import { foldGrid, type ThreadTarget } from './thread-target.js';

/** Points of a group's patch along the crossing variable, and units along the fastest one. */
const PATCH = { across: 32, along: 8 };

/** The variable, other than the fastest, along which some access is contiguous; null if there is none. */
export function crossingVariable(
  outer: readonly SizedLoop[],
  exprs: readonly Expr[],
  stmts: readonly Stmt[],
): SizedLoop | null {
  const lane = fastest(outer);
  if (lane === null || sizeHint(lane.size) < PATCH.along) return null;
  const indices: IndexExpr[] = [];
  for (const expr of exprs) if (expr.kind === 'load') indices.push(expr.index);
  for (const stmt of stmts) if (stmt.kind === 'store') indices.push(stmt.index);
  const votes = new Map<SizedLoop, number>();
  for (const index of indices) {
    const along = strideAlong(index, lane);
    if (along === 0 || along === 1) continue;
    const crossing = outer.find(
      (v) => v !== lane && sizeHint(v.size) >= PATCH.along && strideAlong(index, v) === 1,
    );
    if (crossing !== undefined) votes.set(crossing, (votes.get(crossing) ?? 0) + 1);
  }
  let best: SizedLoop | null = null;
  for (const [v, count] of votes) if (best === null || count > votes.get(best)!) best = v;
  return best;
}

function strideAlong(index: IndexExpr, v: SizedLoop): number | null {
  const none = { step: 1, scattered: new Set<string>(), alignments: new Map<string, number>() };
  return laneAccess(index, { lane: v.name, ...none, isUniform: () => false }).stride;
}

const LANE = variable('lane');
/** Threads 0 to 31 are 8 across and 4 along. */
const ACROSS = plus(modulo(LANE, 8), times(modulo(over(LANE, 32), 4), 8));
const ALONG = plus(modulo(over(LANE, 8), 4), times(over(LANE, 128), 4));

/** Points in patches over the fastest variable and `crossing`. */
export function patches(
  outer: readonly SizedLoop[],
  crossing: SizedLoop,
  width: 1 | 4,
  target: ThreadTarget,
): Placement {
  const lane = fastest(outer)!;
  const rest = outer.filter((v) => v !== lane && v !== crossing);
  const units = sizeFloorDiv(lane.size, width);
  const across = sizeCeilDiv(crossing.size, PATCH.across);
  const along = sizeCeilDiv(units, PATCH.along);
  const groups: Size = sizeProduct([extent(rest), across, along]);
  const { hasSurplus } = foldGrid(groups, target.maxWorkgroupsPerDimension);
  const group = variable('group');
  const below = (index: IndexExpr, limit: Size): Condition => ({
    kind: 'below',
    index,
    limit: whole(limit),
  });
  const set = (name: string, index: IndexExpr): ScheduledStmt => ({ kind: 'let', name, index });
  const patch = (name: string, length: number): IndexExpr => times(variable(name), length);
  const isWhole = isMultiple(crossing.size, PATCH.across) && isMultiple(units, PATCH.along);
  const body: ScheduledStmt[] = [
    ...(hasSurplus ? [{ kind: 'exit', unless: [below(group, groups)] } as const] : []),
    set('patch_along', modulo(group, along)),
    set('patch_across', modulo(over(group, along), across)),
    set(crossing.name, plus(patch('patch_across', PATCH.across), ACROSS)),
    set(lane.name, times(plus(patch('patch_along', PATCH.along), ALONG), width)),
  ];
  if (!isWhole) {
    const inside = [crossing, lane].map(({ name, size }) => below(variable(name), size));
    body.push({ kind: 'exit', unless: inside });
  }
  const hasRest = extent(rest) !== 1;
  if (hasRest) body.push(set('group_rest', over(group, sizeMul(across, along))));
  body.push(...placesOf(rest, hasRest ? variable('group_rest') : whole(0)));
  return { groups, hasSurplus, body };
}
