/**
 * @file `scheduleScalar`: kernels of every kind for a machine that does one thing after another.
 *
 * Loops are nested as the fused kernel has them; nothing is split, tiled or reordered. A product is a sum over k; a
 * reduction keeps floats in the widest float that the target has. It is the schedule to begin a target with, and the one
 * that others are measured against.
 */
import type { Size } from '@tessera/shared';
import type { Stmt } from '../../ir/expr.js';
import type { LoopKernel, MatmulKernel, Stage } from '../../ir/kernel.js';
import type { GeneratedKernel } from '../../ir/kernel-parts.js';
import { scheduleAttention } from './attention.js';
import type { ScalarBody, ScalarKernel, ScalarTarget } from './scalar-kernel.js';
import { type ReductionStmts, ScalarSchedule, storesOf } from './scalar-schedule.js';

/** An inner stage: one pass over the inner loops, in which all of its reductions take in values. */
function innerStage(
  schedule: ScalarSchedule,
  { body }: Stage,
  { inner }: LoopKernel<Size>,
): ScalarBody {
  const reductions = new Map<Stmt, ReductionStmts>();
  for (const stmt of body)
    if (stmt.kind === 'reduce') reductions.set(stmt, schedule.reduce(stmt, inner));
  return schedule.during([...reductions.values()], () =>
    schedule.nest(
      inner,
      body.flatMap((stmt) => (stmt.kind === 'store' ? [stmt] : reductions.get(stmt)!.inside)),
    ),
  );
}

function scheduleLoops(schedule: ScalarSchedule, kernel: LoopKernel<Size>): ScalarKernel {
  const body = kernel.stages.flatMap((stage) =>
    stage.kind === 'inner' ? innerStage(schedule, stage, kernel) : storesOf(stage.body),
  );
  return schedule.done(kernel.outer, body);
}

function scheduleProduct(schedule: ScalarSchedule, kernel: MatmulKernel<Size>): ScalarKernel {
  const { batch, m, n, k, a, b, accDtype, epilogue } = kernel;
  const product = schedule.sumOfProducts({ id: 0, a, b, dtype: accDtype }, k);
  const body = schedule.during([product], (inside) => schedule.nest(k, inside));
  return schedule.done([...batch, ...m, ...n], [...body, ...storesOf(epilogue)]);
}

/** See the file header. */
export function scheduleScalar(kernel: GeneratedKernel<Size>, target: ScalarTarget): ScalarKernel {
  const schedule = new ScalarSchedule(kernel, target);
  switch (kernel.kind) {
    case 'loop':
      return scheduleLoops(schedule, kernel);
    case 'matmul':
      return scheduleProduct(schedule, kernel);
    case 'attention':
      return scheduleAttention(schedule, kernel);
    case 'recurrence':
      throw new TypeError(
        `kernel '${kernel.name}' is a recurrence, which scalar machines do not declare`,
      );
  }
}
