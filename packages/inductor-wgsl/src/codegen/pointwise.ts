/**
 * @file Pointwise kernels: one thread for each outer point, or for four points along the last variable.
 */
import { stmtRoots, type LoopKernel, type Stmt } from '@tessera/inductor-core';
import { CodeBlock } from './code-block.js';
import { linearGrid } from './dispatch.js';
import { ExprEmitter } from './expr-emitter.js';
import { LaneContext } from './lane-context.js';
import { decompose, extent, fastest } from './loop-vars.js';
import { ProgramBuilder, type WgslProgram } from './program.js';
import { emitStore } from './store-emitter.js';
import type { WgslTarget } from './target.js';
import type { KernelVariant } from './variant.js';
import { chooseVectorBuffers } from './vector-buffers.js';

const THREADS = 256;

/** Generates a kernel that has no inner stages. */
export function generatePointwise(
  kernel: LoopKernel,
  target: WgslTarget,
  variant: KernelVariant,
): WgslProgram {
  const stmts: readonly Stmt[] = kernel.stages.flatMap((stage) => stage.body);
  const roots = stmts.flatMap(stmtRoots);
  const points = extent(kernel.outer);
  const lane = fastest(kernel.outer);
  // The only variable may end in the middle of a vector; then the last thread stores lane by lane.
  const alone = kernel.outer.filter((v) => v.size > 1).length === 1;
  const divisible = lane !== null && lane.size % 4 === 0;
  let context = new LaneContext({}, roots);
  let vectors = new Set<string>();
  if (lane !== null && lane.size >= 4 && (divisible || alone)) {
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

  const quads = context.width === 4;
  const items = quads ? Math.ceil(points / 4) : points;
  const grid = linearGrid(Math.ceil(items / THREADS), target);
  body.line(`let point = ${grid.id} * ${THREADS}u + lane;`);
  if (grid.surplus > 0 || items % THREADS !== 0) body.line(`if (point >= ${items}u) { return; }`);
  const emitter = new ExprEmitter(builder, context, roots);
  emitter.enter(
    body,
    decompose(body, builder.names, kernel.outer, 'point', quads ? { lane: lane!.name } : {}),
  );

  const full = new CodeBlock();
  const partial = new CodeBlock();
  const ragged = quads && !divisible;
  for (const stmt of stmts) {
    if (stmt.kind !== 'store') continue;
    emitStore(emitter, stmt, {
      full,
      ...(ragged && {
        partial: { block: partial, condition: (j: number) => `point * 4u + ${j}u < ${points}u` },
      }),
    });
  }
  if (ragged) {
    body.nest(`if (point < ${Math.floor(points / 4)}u)`, full);
    body.nest('else', partial);
  } else {
    body.append(full);
  }
  return builder.finish(THREADS, body, grid.workgroups);
}
