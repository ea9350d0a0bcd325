/**
 * @file What a new size costs is counted in calls of functions: the first time that code runs, and seldom later, engines
 * optimise none of it, so that its calls are what its time goes by.
 */
import { type Tensor, manualSeed } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { wantsGpu } from '../../../tooling/wants-gpu.js';
import { openGpu } from '../src/engines/tessera.js';
import { DYNAMIC_WORKLOADS, type DynamicDevice, compiledStep } from '../src/dynamic/workloads.js';
import { type CallCounts, FunctionCalls } from './function-calls.js';

const gpu = wantsGpu ? await openGpu({ dawn: null, dawnFlags: [] }) : null;

/** Sizes that are counted: on a busy machine one called a few functions more now and then, as if a buffer was still in use. */
const COUNTED = 2;

/** What a new size and a repeated one call, once sizes are known; of two new sizes that with fewer calls more. */
async function callsOf(
  name: string,
  device: DynamicDevice,
): Promise<Record<'fresh' | 'again', CallCounts>> {
  const workload = DYNAMIC_WORKLOADS.find((each) => each.name === name)!;
  manualSeed(0);
  const program = workload.make(device, true);
  const { step } = compiledStep(workload, program);
  const run = (size: number, inputs: readonly Tensor[]): void => {
    for (const tensor of [step(size, inputs)].flat() as Tensor[]) tensor.dispose();
  };
  const done = async (): Promise<void> => {
    if (device === 'wgpu') await gpu!.synchronize();
  };
  const sizes = workload.sizes(true);
  for (const size of sizes.slice(0, -COUNTED)) {
    const inputs = program.inputs(size);
    run(size, inputs);
    for (const tensor of inputs) tensor.dispose();
    await done();
  }
  const calls = new FunctionCalls();
  const counted: Record<'fresh' | 'again', CallCounts>[] = [];
  try {
    for (const size of sizes.slice(-COUNTED)) {
      const inputs = program.inputs(size);
      await done();
      const fresh = calls.during(() => run(size, inputs));
      await done();
      // Inputs that were checked before are checked by their mark.
      run(size, inputs);
      await done();
      counted.push({ fresh, again: calls.during(() => run(size, inputs)) });
    }
  } finally {
    calls.end();
  }
  const more = (of: (typeof counted)[number]): number => of.fresh.calls - of.again.calls;
  return counted.reduce((best, other) => (more(other) < more(best) ? other : best));
}

describe('a call with a new size', () => {
  it.each([
    ['moving_slice', 41, 30],
    ['growing_cache', 57, 34],
    ['mlp_forward', 44, 27],
    ['mlp_training', 58, 26],
    ['resnet18_images', 3800, 115],
  ])('of %s calls few functions more than a repeated one', async (name, more, others) => {
    const { fresh, again } = await callsOf(name, 'cpu');
    expect(fresh.calls).toBeGreaterThan(again.calls);
    expect(fresh.calls - again.calls).toBeLessThanOrEqual(more);
    expect(fresh.functions - again.functions).toBeLessThanOrEqual(others);
  });

  // Launches, uniforms and memory are those of all sizes; inputs in memory of their own are bound anew.
  it.skipIf(gpu === null).each([
    ['moving_slice', 38, 31],
    ['growing_cache', 57, 31],
    ['mlp_forward', 56, 30],
  ])('of %s calls few more on WebGPU', async (name, more, others) => {
    const { fresh, again } = await callsOf(name, 'wgpu');
    expect(fresh.calls - again.calls).toBeLessThanOrEqual(more);
    expect(fresh.functions - again.functions).toBeLessThanOrEqual(others);
  });
});
