/**
 * @file Runs one kernel on the device and by the reference interpreter, and compares.
 */
import {
  type Executable,
  type ExecutionPlan,
  type FusedKernel,
  interpretKernel,
  verifyKernel,
} from '@tessera/inductor-core';
import { type DType } from '@tessera/tensor';
import {
  bfloatToNumber,
  halfToNumber,
  makeTensor,
  numberToBfloat,
  numberToHalf,
} from '@tessera/tensor/internal';
import { expect } from 'vitest';
import {
  generateKernel,
  WgslExecutable,
  type KernelVariant,
  type WebGpu,
  type WgslProgram,
  type WgslTarget,
} from '../../src/index.js';
import { deviceLaunches } from '../../src/runtime/plan/chain-launches.js';
import { PlanCode } from '../../src/runtime/plan/plan-code.js';
import { PlanRoutes } from '../../src/runtime/plan/plan-routes.js';
import { PlanMemory } from '../../src/runtime/plan/plan-memory.js';
import { deviceTensor, readTensor, singlePlan } from './plans.js';

/** What a buffer of this dtype keeps of a number. */
export function rounded(dtype: DType, value: number): number {
  if (dtype === 'float32') return Math.fround(value);
  if (dtype === 'float16') return halfToNumber(numberToHalf(value));
  if (dtype === 'bfloat16') return bfloatToNumber(numberToBfloat(value));
  return value;
}

/** Relative tolerances of PyTorch's `assert_close`; absolute in `atol`. */
const RTOL: Partial<Record<DType, number>> = { float32: 2e-6, float16: 1e-3, bfloat16: 1.6e-2 };

/** Fails when some element differs by more than the dtype allows. */
export function expectClose(
  actual: readonly number[],
  wanted: readonly number[],
  dtype: DType,
  what: string,
  scale = 1,
): void {
  expect(actual.length, what).toBe(wanted.length);
  const rtol = (RTOL[dtype] ?? 0) * scale;
  const wrong: string[] = [];
  for (const [i, a] of actual.entries()) {
    const w = wanted[i];
    if (Object.is(a, w) || a === w || (Number.isNaN(a) && Number.isNaN(w))) continue;
    if (Math.abs(a - w) <= rtol * Math.abs(w) + (rtol > 0 ? 1e-6 * scale : 0)) continue;
    wrong.push(`[${i}] ${a} instead of ${w}`);
  }
  if (wrong.length > 0)
    expect.fail(
      `${what}: ${wrong.length} of ${actual.length} elements differ: ${wrong.slice(0, 5).join('; ')}`,
    );
}

/** How a kernel is generated and fed, where it is not as usual. */
export interface RunOptions {
  /** Generates the code instead of the backend. */
  readonly generate?: (kernel: FusedKernel, variant?: KernelVariant) => WgslProgram;
  /** What the code is generated for; the device itself if absent. */
  readonly target?: WgslTarget;
  /** Elements before the first of every tensor: views into larger storages. */
  readonly offset?: number;
}

/** A plan of one kernel, loaded as usual, for another target, or with code of the caller. */
function executableOf(
  gpu: WebGpu,
  plan: ExecutionPlan,
  { generate, target }: RunOptions,
): Executable {
  if (generate === undefined && target === undefined) return gpu.backend.load(plan);
  const layout = target === undefined ? plan : { ...plan, ...deviceLaunches(plan, target) };
  const code = new PlanCode(layout.kernels, (index, variant) =>
    target === undefined
      ? generate!(plan.kernels[index], variant)
      : generateKernel(layout.kernels[index], target, variant),
  );
  const memory = new PlanMemory(gpu.runtime, plan.constants);
  return new WgslExecutable(gpu.runtime, {
    routes: new PlanRoutes(gpu.runtime, layout, code, memory),
    computed: [],
    plan: () => plan,
    memory,
    ownsMemory: true,
  });
}

/** Runs a kernel on the device; gives the final content of every parameter. */
export async function runOnDevice(
  gpu: WebGpu,
  kernel: FusedKernel,
  buffers: Readonly<Record<string, readonly number[]>>,
  scalars: readonly number[] = [],
  options: RunOptions = {},
): Promise<Record<string, number[]>> {
  const { offset = 0 } = options;
  const plan = singlePlan(kernel, (name) => buffers[name].length);
  const executable = executableOf(gpu, plan, options);
  const tensors = kernel.params.map((param) => {
    const padding = new Array<number>(offset).fill(1);
    const whole = deviceTensor(gpu, param.dtype, [...padding, ...buffers[param.name], ...padding]);
    return makeTensor(
      whole.storage,
      param.dtype,
      'wgpu',
      [buffers[param.name].length],
      [1],
      offset,
    );
  });
  executable.run(tensors, [], scalars);
  const result: Record<string, number[]> = {};
  for (const [i, param] of kernel.params.entries())
    result[param.name] = await readTensor(gpu, tensors[i]);
  for (const tensor of tensors) tensor.storage.release();
  executable.dispose();
  return result;
}

/** Runs a kernel by the interpreter. */
export function runReference(
  kernel: FusedKernel,
  buffers: Readonly<Record<string, readonly number[]>>,
  scalars: readonly number[] = [],
): Record<string, number[]> {
  verifyKernel(kernel);
  const data: Record<string, number[]> = {};
  for (const param of kernel.params)
    data[param.name] = buffers[param.name].map((value) => rounded(param.dtype, value));
  interpretKernel(
    kernel,
    data,
    Object.fromEntries(kernel.scalars.map((scalar, i) => [scalar.name, scalars[i]])),
  );
  for (const param of kernel.params)
    data[param.name] = data[param.name].map((value) => rounded(param.dtype, value));
  return data;
}

/** Runs a kernel both ways and compares every buffer. */
export async function compareKernel(
  gpu: WebGpu,
  kernel: FusedKernel,
  buffers: Readonly<Record<string, readonly number[]>>,
  scalars: readonly number[] = [],
  scale = 1,
  options: RunOptions = {},
): Promise<void> {
  const wanted = runReference(kernel, buffers, scalars);
  const actual = await runOnDevice(gpu, kernel, buffers, scalars, options);
  for (const param of kernel.params) {
    expectClose(
      actual[param.name],
      wanted[param.name],
      param.dtype,
      `${kernel.name}: ${param.name}`,
      scale,
    );
  }
}
