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
  type Expr,
  type IndexExpr,
  type LoopVar,
  type Stmt,
} from '@tessera/inductor-core';
import type { CodeBlock } from './code-block.js';
import { linearGrid, type Grid } from './dispatch.js';
import type { SymbolText } from './index-emitter.js';
import { laneAccess } from './lane-stride.js';
import { decompose, extent, fastest } from './loop-vars.js';
import type { NameScope } from './names.js';
import type { WgslTarget } from './target.js';

/** Threads of a pointwise workgroup. */
export const POINTWISE_THREADS = 256;

/** Points of a workgroup's patch along the crossing variable, and units along the fastest one. */
const PATCH = { across: 32, along: 8 };

/** The variable, other than the fastest, along which some access is contiguous; null if there is none. */
export function crossingVariable(
  outer: readonly LoopVar[],
  exprs: readonly Expr[],
  stmts: readonly Stmt[],
): LoopVar | null {
  const lane = fastest(outer);
  if (lane === null || lane.size < PATCH.along) return null;
  const indices: IndexExpr[] = [];
  for (const expr of exprs) if (expr.kind === 'load') indices.push(indexOf(expr) as IndexExpr);
  for (const stmt of stmts) if (stmt.kind === 'store') indices.push(stmt.index);
  const votes = new Map<LoopVar, number>();
  for (const index of indices) {
    const along = strideAlong(index, lane);
    if (along === 0 || along === 1) continue;
    const crossing = outer.find(
      (v) => v !== lane && v.size >= PATCH.along && strideAlong(index, v) === 1,
    );
    if (crossing !== undefined) votes.set(crossing, (votes.get(crossing) ?? 0) + 1);
  }
  let best: LoopVar | null = null;
  for (const [v, count] of votes)
    if (best === null || count > (votes.get(best) as number)) best = v;
  return best;
}

function strideAlong(index: IndexExpr, v: LoopVar): number | null {
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
  names: NameScope,
  outer: readonly LoopVar[],
  width: 1 | 4,
  target: WgslTarget,
): Placement {
  const units = Math.ceil(extent(outer) / width);
  const grid = linearGrid(Math.ceil(units / POINTWISE_THREADS), target);
  body.line(`let point = ${grid.id} * ${POINTWISE_THREADS}u + lane;`);
  if (grid.surplus > 0 || units % POINTWISE_THREADS !== 0) {
    body.line(`if (point >= ${units}u) { return; }`);
  }
  const lane = width === 4 ? { lane: (fastest(outer) as LoopVar).name } : {};
  return { grid, symbols: decompose(body, names, outer, 'point', lane) };
}

/** Points in patches over the fastest variable and `crossing`. */
export function placeInPatches(
  body: CodeBlock,
  names: NameScope,
  outer: readonly LoopVar[],
  crossing: LoopVar,
  width: 1 | 4,
  target: WgslTarget,
): Placement {
  const lane = fastest(outer) as LoopVar;
  const rest = outer.filter((v) => v !== lane && v !== crossing);
  const units = lane.size / width;
  const across = Math.ceil(crossing.size / PATCH.across);
  const along = Math.ceil(units / PATCH.along);
  const count = extent(rest) * across * along;
  const grid = linearGrid(count, target);
  if (grid.surplus > 0) body.line(`if (${grid.id} >= ${count}u) { return; }`);
  body.line(`let patch_along = ${grid.id} % ${along}u;`);
  body.line(`let patch_across = (${grid.id} / ${along}u) % ${across}u;`);
  const [i, j] = [names.claim(crossing.name), names.claim(lane.name)];
  // Lanes 0-31 are 8 across and 4 along.
  body.line(`let ${i} = patch_across * ${PATCH.across}u + ((lane & 7u) | ((lane >> 2u) & 24u));`);
  const place = `patch_along * ${PATCH.along}u + (((lane >> 3u) & 3u) | ((lane >> 5u) & 4u))`;
  body.line(`let ${j} = ${width === 4 ? `(${place}) * 4u` : place};`);
  if (crossing.size % PATCH.across !== 0 || units % PATCH.along !== 0) {
    body.line(`if (${i} >= ${crossing.size}u || ${j} >= ${lane.size}u) { return; }`);
  }
  const group = names.fresh('group_rest');
  if (extent(rest) > 1) body.line(`let ${group} = ${grid.id} / ${across * along}u;`);
  const symbols = decompose(body, names, rest, extent(rest) > 1 ? group : '0u');
  symbols.set(crossing.name, { text: i, width: 1 });
  symbols.set(lane.name, {
    text: j,
    width: 1,
    ...(width === 4 && { lanes: `(${j} + vec4u(0u, 1u, 2u, 3u))` }),
  });
  return { grid, symbols };
}
