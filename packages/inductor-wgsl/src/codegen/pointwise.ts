/**
 * @file Pointwise kernels: one thread for each outer point, or for four points along the last variable.
 */
import { postorder, stmtRoots, type LoopKernel, type Stmt } from '@tessera/inductor-core';
import { type Size, sizeFloorDiv, sizeHint } from '@tessera/shared';
import { CodeBlock } from './code-block.js';
import { ExprEmitter } from './expr-emitter.js';
import { LaneContext } from './lane-context.js';
import { extent, fastest, fillsLanes, moves } from './loop-vars.js';
import { ProgramBuilder, type WgslProgram } from './program.js';
import { emitStore } from './store-emitter.js';
import type { WgslTarget } from './target.js';
import {
  crossingVariable,
  placeInOrder,
  placeInPatches,
  POINTWISE_THREADS,
} from './thread-patch.js';
import type { KernelVariant } from './variant.js';
import { chooseVectorBuffers } from './vector-buffers.js';

/** Generates a kernel that has no inner stages. */
export function generatePointwise(
  kernel: LoopKernel<Size>,
  target: WgslTarget,
  variant: KernelVariant,
): WgslProgram {
  const stmts: readonly Stmt[] = kernel.stages.flatMap((stage) => stage.body);
  const roots = stmts.flatMap(stmtRoots);
  const points = extent(kernel.outer);
  const lane = fastest(kernel.outer);
  // The only variable may end in the middle of a vector; then the last thread stores lane by lane.
  const alone = kernel.outer.filter(moves).length === 1;
  const divisible = lane !== null && fillsLanes(lane);
  let context = new LaneContext({}, roots);
  let vectors = new Set<string>();
  if (lane !== null && sizeHint(lane.size) >= 4 && (divisible || alone)) {
    const wide = new LaneContext({ lane: lane.name }, roots);
    const found = chooseVectorBuffers([{ context: wide, exprs: [], stores: stmts }]);
    if (found.size > 0) {
      context = wide;
      vectors = variant.offsets ? vectors : found;
    }
  }
  const builder = new ProgramBuilder(kernel, target, variant, vectors);
  const body = new CodeBlock();
  if (points === 0) return builder.finish(1, body, [0, 1]);

  const { width } = context;
  const ragged = width === 4 && !divisible;
  const crossing = ragged ? null : crossingVariable(kernel.outer, postorder(roots), stmts);
  const { grid, symbols } =
    crossing === null
      ? placeInOrder(body, builder, kernel.outer, width, target)
      : placeInPatches(body, builder, kernel.outer, crossing, width, target);
  const emitter = new ExprEmitter(builder, context, roots);
  emitter.enter(body, symbols);

  const full = new CodeBlock();
  const partial = new CodeBlock();
  for (const stmt of stmts) {
    if (stmt.kind !== 'store') continue;
    emitStore(emitter, stmt, {
      full,
      ...(ragged && {
        partial: {
          block: partial,
          condition: (j: number) => `point * 4u + ${j}u < ${builder.size(points)}`,
        },
      }),
    });
  }
  if (ragged) {
    body.nest(`if (point < ${builder.size(sizeFloorDiv(points, 4))})`, full);
    body.nest('else', partial);
  } else {
    body.append(full);
  }
  return builder.finish(POINTWISE_THREADS, body, grid.workgroups);
}
