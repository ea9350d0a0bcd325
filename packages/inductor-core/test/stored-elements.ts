/**
 * @file Counts what the launches of a plan store, from the kernels' loops.
 */
import type { ExecutionPlan, FusedKernel } from '../src/index.js';

const points = (vars: readonly { readonly size: number }[]): number =>
  vars.reduce((n, { size }) => n * size, 1);

function stores(kernel: FusedKernel): { readonly buf: string; readonly count: number }[] {
  switch (kernel.kind) {
    case 'loop':
      return kernel.stages.flatMap(({ kind, body }) =>
        body.flatMap((stmt) =>
          stmt.kind === 'store'
            ? [
                {
                  buf: stmt.buf,
                  count: points(kernel.outer) * (kind === 'inner' ? points(kernel.inner) : 1),
                },
              ]
            : [],
        ),
      );
    case 'matmul':
      return kernel.epilogue.flatMap((stmt) =>
        stmt.kind === 'store'
          ? [{ buf: stmt.buf, count: points([...kernel.batch, ...kernel.m, ...kernel.n]) }]
          : [],
      );
    default:
      throw new Error(`${kernel.kind} kernels are not counted`);
  }
}

/** Elements that a run of the plan stores into its inputs, by the input's number. */
export function storedIntoInputs(plan: ExecutionPlan): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { kernel, buffers } of plan.launches) {
    const { params } = plan.kernels[kernel]!;
    for (const { buf, count } of stores(plan.kernels[kernel]!)) {
      const { source } = plan.buffers[buffers[params.findIndex(({ name }) => name === buf)]!]!;
      if (source.kind === 'input') counts[source.index] = (counts[source.index] ?? 0) + count;
    }
  }
  return counts;
}
