/**
 * @file How the threads of a pointwise kernel cover its points.
 *
 * Usually in order: neighbouring threads take neighbouring points. Where some buffer is contiguous along
 * another variable than the fastest (a transpose), each subgroup takes a patch of 8 × 4 points instead, so
 * that both directions touch whole 32-byte sectors and what the patch of a workgroup loads is used up
 * while it is in cache.
 */
import {
  indexOf,
  isMultiple,
  type Expr,
  type IndexExpr,
  type SizedLoop,
  type Stmt,
} from '@tessera/inductor-core';
import { sizeCeilDiv, sizeFloorDiv, sizeHint, sizeMul, sizeProduct } from '@tessera/shared';
import type { CodeBlock } from './code-block.js';
import { gridOf, linearGrid, type Grid } from './dispatch.js';
import type { SymbolText } from './index-emitter.js';
import { laneAccess } from './lane-stride.js';
import { decompose, extent, fastest, type ProgramNames } from './loop-vars.js';
import type { WgslTarget } from './target.js';

/** Threads of a pointwise workgroup. */
export const POINTWISE_THREADS = 256;

/** Points of a workgroup's patch along the crossing variable, and units along the fastest one. */
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
  for (const expr of exprs) if (expr.kind === 'load') indices.push(indexOf(expr) as IndexExpr);
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
  for (const [v, count] of votes)
    if (best === null || count > (votes.get(best) as number)) best = v;
  return best;
}

function strideAlong(index: IndexExpr, v: SizedLoop): number | null {
  const none = { step: 1, scattered: new Set<string>(), alignments: new Map<string, number>() };
  return laneAccess(index, { lane: v.name, ...none, isUniform: () => false }).stride;
}

/** A placement: the grid and the loop variables of each thread. */
export interface Placement {
  readonly grid: Grid;
  readonly symbols: Map<string, SymbolText>;
}

/** Points in order; `point` counts units of `width` points. */
export function placeInOrder(
  body: CodeBlock,
  program: ProgramNames,
  outer: readonly SizedLoop[],
  width: 1 | 4,
  target: WgslTarget,
): Placement {
  const units = sizeCeilDiv(extent(outer), width);
  const grid = gridOf(units, POINTWISE_THREADS, target);
  body.line(`let point = ${grid.id} * ${POINTWISE_THREADS}u + lane;`);
  if (grid.hasSurplus || !isMultiple(units, POINTWISE_THREADS)) {
    body.line(`if (point >= ${program.size(units)}) { return; }`);
  }
  const lane = width === 4 ? { lane: fastest(outer)!.name } : {};
  return { grid, symbols: decompose(body, program, outer, 'point', lane) };
}

/** Points in patches over the fastest variable and `crossing`. */
export function placeInPatches(
  body: CodeBlock,
  program: ProgramNames,
  outer: readonly SizedLoop[],
  crossing: SizedLoop,
  width: 1 | 4,
  target: WgslTarget,
): Placement {
  const { names } = program;
  const lane = fastest(outer)!;
  const rest = outer.filter((v) => v !== lane && v !== crossing);
  const units = sizeFloorDiv(lane.size, width);
  const across = sizeCeilDiv(crossing.size, PATCH.across);
  const along = sizeCeilDiv(units, PATCH.along);
  const count = sizeProduct([extent(rest), across, along]);
  const grid = linearGrid(count, target);
  if (grid.hasSurplus) body.line(`if (${grid.id} >= ${program.size(count)}) { return; }`);
  const perRow = program.size(along);
  body.line(`let patch_along = ${grid.id} % ${perRow};`);
  body.line(`let patch_across = (${grid.id} / ${perRow}) % ${program.size(across)};`);
  const [i, j] = [names.claim(crossing.name), names.claim(lane.name)];
  // Lanes 0-31 are 8 across and 4 along.
  body.line(`let ${i} = patch_across * ${PATCH.across}u + ((lane & 7u) | ((lane >> 2u) & 24u));`);
  const place = `patch_along * ${PATCH.along}u + (((lane >> 3u) & 3u) | ((lane >> 5u) & 4u))`;
  body.line(`let ${j} = ${width === 4 ? `(${place}) * 4u` : place};`);
  if (!isMultiple(crossing.size, PATCH.across) || !isMultiple(units, PATCH.along)) {
    body.line(
      `if (${i} >= ${program.size(crossing.size)} || ${j} >= ${program.size(lane.size)}) { return; }`,
    );
  }
  const group = names.fresh('group_rest');
  const hasRest = extent(rest) !== 1;
  if (hasRest) body.line(`let ${group} = ${grid.id} / ${program.size(sizeMul(across, along))};`);
  const symbols = decompose(body, program, rest, hasRest ? group : '0u');
  symbols.set(crossing.name, { text: i, width: 1 });
  symbols.set(lane.name, {
    text: j,
    width: 1,
    ...(width === 4 && { lanes: `(${j} + vec4u(0u, 1u, 2u, 3u))` }),
  });
  return { grid, symbols };
}
