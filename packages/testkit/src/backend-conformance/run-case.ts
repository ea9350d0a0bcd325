/**
 * @file Runs one case on a backend, several times with other values, and compares it with eager.
 *
 * Expected values come from the reference kernels on `cpu`. On another device the inputs are copied there.
 */
import { compile, config, kernelBackend, registerKernelBackend } from '@tessera/compile';
import type { Backend } from '@tessera/dynamo-trace';
import type { KernelBackend } from '@tessera/inductor-core';
import { treeLeaves } from '@tessera/shared';
import { type DeviceType, type Tensor, isTensor, manualSeed } from '@tessera/tensor';
import { toDevice } from '@tessera/tensor/internal';
import { DEFAULT_TOLERANCES, type Tolerance, assertCloseAsync } from '../assert-close.js';
import { type ConformanceCase, ramp } from './conformance-case.js';

/** A backend to be judged: kernels of a device, or graphs (by name or as a function). */
export type JudgedBackend = KernelBackend | Backend | string;

/** Whether it generates kernels. */
export function isKernelBackend(backend: JudgedBackend): backend is KernelBackend {
  return typeof backend === 'object';
}

const CALLS = 3;

/** What a call did: values by name, to be compared one by one. */
type Outcome = readonly (readonly [what: string, value: Tensor])[];

/** Calls the program, then differentiates it if its results can be. */
function outcome(run: (...inputs: Tensor[]) => unknown, inputs: readonly Tensor[]): Outcome {
  const results = treeLeaves(run(...inputs)).filter(isTensor);
  const found: [string, Tensor][] = results.map((value, i) => [`result ${i}`, value.detach()]);
  const losses = results.filter((value) => value.requiresGrad);
  losses.forEach((value, i) => {
    const weights = toDevice(ramp(value.sizes, i), value.device);
    value.backward(weights, { retainGraph: i < losses.length - 1 });
  });
  inputs.forEach((value, i) => {
    found.push([`input ${i} afterwards`, value.detach()]);
    if (value.grad !== null) found.push([`gradient of input ${i}`, value.grad]);
  });
  return found;
}

function toleranceFor(own: Tolerance | undefined, value: Tensor): Partial<Tolerance> {
  const known = DEFAULT_TOLERANCES[value.dtype];
  // Other orders of summation and other approximations of functions are the backend's right.
  return own !== undefined && known !== undefined && value.dtype.startsWith('float')
    ? own
    : value.dtype === 'float32'
      ? { rtol: 10 * known!.rtol, atol: 2 * known!.atol }
      : {};
}

async function compareCall(
  test: ConformanceCase,
  device: DeviceType,
  call: number,
  run: ConformanceCase['run'],
): Promise<void> {
  manualSeed(100 + call);
  const expected = config.patch({ 'eager.kernels': 'reference' }, () =>
    outcome(test.run, test.inputs(call)),
  );
  const inputs = test.inputs(call).map((input) => {
    if (device === 'cpu') return input;
    const moved = toDevice(input.detach(), device);
    return input.requiresGrad ? moved.requiresGrad_() : moved;
  });
  manualSeed(100 + call);
  const actual = outcome(run, inputs);
  if (actual.length !== expected.length)
    throw new Error(`call ${call}: ${actual.length} values, eager has ${expected.length}`);
  for (const [i, [what, value]] of expected.entries()) {
    const [found, result] = actual[i]!;
    if (found !== what) throw new Error(`call ${call}: ${found} where eager has ${what}`);
    await assertCloseAsync(result, value, {
      ...toleranceFor(test.tolerance, value),
      message: `call ${call}, ${what}`,
      // The layout of a copy on another device is that device's affair.
      checkStride: device === 'cpu' && what.startsWith('result'),
    });
  }
}

/** Runs a case. @throws what differs, or what the backend throws */
export async function runConformanceCase(
  test: ConformanceCase,
  backend: JudgedBackend,
  device: DeviceType,
): Promise<void> {
  const { calls = CALLS } = test;
  const compiled = (options: object): ConformanceCase['run'] =>
    compile(test.run, { fullgraph: true, ...options });
  if (!isKernelBackend(backend)) {
    const run = compiled({ backend });
    for (let call = 0; call < calls; call++) await compareCall(test, device, call, run);
    return;
  }
  const before = registered(backend.device);
  registerKernelBackend(backend);
  try {
    const run = compiled({});
    for (let call = 0; call < calls; call++) await compareCall(test, device, call, run);
  } finally {
    if (before !== null) registerKernelBackend(before);
  }
}

/** What the device has now; null for a device that has nothing yet. */
function registered(device: DeviceType): KernelBackend | null {
  try {
    return kernelBackend(device);
  } catch {
    return null;
  }
}
