/**
 * @file Runs a plan in the reference interpreter: what every backend's executable must compute.
 */
import { TesseraError } from '@tessera/shared';
import { type BufferData, type ExternRunner, interpretKernel } from '../ir/interpret.js';
import { allocateData, bindPlan } from './bind-plan.js';
import type { ExecutionPlan } from './execution-plan.js';

function extentOf(sizes: readonly number[], strides: readonly number[]): number {
  return sizes.reduce(
    (last, size, d) => (size === 0 ? -Infinity : last + (size - 1) * strides[d]!),
    1,
  );
}

/**
 * Runs a plan on arrays of elements in storage order and returns one array per output. Arena buffers
 * are separate arrays filled with NaN first, so that a read of what was never written shows.
 *
 * @throws plan-invalid
 */
export function interpretPlan(
  plan: ExecutionPlan,
  inputs: readonly BufferData[],
  scalars: readonly number[] = [],
  extern?: ExternRunner,
): BufferData[] {
  if (inputs.length !== plan.numInputs) {
    throw new TesseraError(
      'plan-invalid',
      `Plan '${plan.name}' takes ${plan.numInputs} inputs, got ${inputs.length}.`,
      { hints: ['Pass one array per plan input.'] },
    );
  }
  const outputs = plan.outputs.map((output) =>
    allocateData(output.dtype, Math.max(extentOf(output.sizes, output.strides), 0)),
  );
  const memory = bindPlan(plan, inputs, outputs);
  for (const launch of plan.launches) {
    const kernel = plan.kernels[launch.kernel]!;
    const buffers = new Map(kernel.params.map((p, i) => [p.name, memory[launch.buffers[i]!]!]));
    const values = new Map(kernel.scalars.map((s, i) => [s.name, scalars[launch.scalars[i]!]!]));
    interpretKernel(kernel, buffers, values, extern);
  }
  return outputs;
}
