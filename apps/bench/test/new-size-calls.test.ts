/**
 * @file What a new size costs is counted in calls of functions: the first time that code runs, and seldom later, engines
 * optimise none of it, so that its calls are what its time goes by.
 */
import { type Tensor, manualSeed } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { DYNAMIC_WORKLOADS, compiledStep } from '../src/dynamic/workloads.js';
import { type CallCounts, FunctionCalls } from './function-calls.js';

/** What a new size and a repeated one call, once sizes are known. */
function callsOf(name: string): Record<'fresh' | 'again', CallCounts> {
  const workload = DYNAMIC_WORKLOADS.find((each) => each.name === name)!;
  manualSeed(0);
  const program = workload.make('cpu', true);
  const { step } = compiledStep(workload, program);
  const run = (size: number, inputs: readonly Tensor[]): void => {
    for (const tensor of [step(size, inputs)].flat() as Tensor[]) tensor.dispose();
  };
  const sizes = workload.sizes(true);
  const last = sizes.at(-1)!;
  for (const size of sizes.slice(0, -1)) run(size, program.inputs(size));
  const inputs = program.inputs(last);
  const calls = new FunctionCalls();
  try {
    const fresh = calls.during(() => run(last, inputs));
    // Inputs that were checked before are checked by their mark.
    run(last, inputs);
    return { fresh, again: calls.during(() => run(last, inputs)) };
  } finally {
    calls.end();
  }
}

describe('a call with a new size', () => {
  it.each([
    ['moving_slice', 48, 34],
    ['growing_cache', 62, 36],
    ['mlp_forward', 52, 31],
    ['resnet18_images', 4000, 130],
  ])('of %s calls few functions more than a repeated one', (name, more, others) => {
    const { fresh, again } = callsOf(name);
    expect(fresh.calls).toBeGreaterThan(again.calls);
    expect(fresh.calls - again.calls).toBeLessThanOrEqual(more);
    expect(fresh.functions - again.functions).toBeLessThanOrEqual(others);
  });
});
