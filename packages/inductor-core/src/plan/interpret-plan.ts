/**
 * @file Runs a plan in the reference interpreter: what every backend's executable must compute.
 */
import type { DType } from '@tessera/tensor';
import { TesseraError } from '@tessera/shared';
import { type BufferData, type ExternRunner, interpretKernel } from '../ir/interpret.js';
import type { ExecutionPlan, PlanBuffer } from './execution-plan.js';

/** Memory for `count` elements of a dtype, as the interpreter holds them. */
export function allocateData(dtype: DType, count: number): BufferData {
  switch (dtype) {
    case 'float64':
      return new Float64Array(count);
    case 'int64':
      return new BigInt64Array(count);
    case 'int32':
      return new Int32Array(count);
    case 'int16':
      return new Int16Array(count);
    case 'int8':
      return new Int8Array(count);
    case 'uint8':
    case 'bool':
      return new Uint8Array(count);
    default:
      return new Float32Array(count);
  }
}

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
  const memory = plan.buffers.map((buffer) => memoryOf(plan, buffer, inputs, outputs));
  for (const launch of plan.launches) {
    const kernel = plan.kernels[launch.kernel]!;
    const buffers = new Map(kernel.params.map((p, i) => [p.name, memory[launch.buffers[i]!]!]));
    const values = new Map(kernel.scalars.map((s, i) => [s.name, scalars[launch.scalars[i]!]!]));
    interpretKernel(kernel, buffers, values, extern);
  }
  return outputs;
}

function memoryOf(
  plan: ExecutionPlan,
  buffer: PlanBuffer,
  inputs: readonly BufferData[],
  outputs: readonly BufferData[],
): BufferData {
  const { source } = buffer;
  switch (source.kind) {
    case 'input':
      return inputs[source.index]!;
    case 'output':
      return outputs[source.index]!;
    case 'constant':
      return [...plan.constants[source.index]!.values];
    case 'arena': {
      const data = allocateData(buffer.dtype, buffer.numel);
      return data instanceof Float32Array || data instanceof Float64Array ? data.fill(NaN) : data;
    }
  }
}
