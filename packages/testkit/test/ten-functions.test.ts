/**
 * @file Ten functions, compiled on every device, equal eager forward and backward, in no more kernels than
 * PyTorch's compiler takes.
 */
import { compile, initWebGpu, registerKernelBackend } from '@tessera/compile';
import { type DeviceType, type Tensor, isFloatingPoint } from '@tessera/tensor';
import { toDevice } from '@tessera/tensor/internal';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type CompiledCode,
  assertCloseAsync,
  expectKernelCount,
  kernelCount,
  runAndGetCode,
} from '../src/index.js';
import { SAMPLES } from './ten-functions.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

const DEVICES: readonly DeviceType[] = wantsGpu ? ['cpu', 'wgpu'] : ['cpu'];

function listOf(result: Tensor | Tensor[]): Tensor[] {
  return Array.isArray(result) ? result : [result];
}

/** Runs forward, then backward from a fixed cotangent; returns outputs and gradients. */
function forwardBackward(
  fn: (...inputs: Tensor[]) => Tensor | Tensor[],
  inputs: readonly Tensor[],
): { outs: Tensor[]; grads: Tensor[] } {
  const outs = listOf(fn(...inputs));
  const total = outs.map((out) => out.mul(0.5).sum()).reduce((a, b) => a.add(b));
  total.backward();
  return {
    outs,
    grads: inputs.filter((input) => isFloatingPoint(input.dtype)).map((input) => input.grad!),
  };
}

function onDevice(tensor: Tensor, device: DeviceType): Tensor {
  const moved = toDevice(tensor.detach(), device);
  return tensor.requiresGrad ? moved.requiresGrad_() : moved;
}

describe.each(DEVICES)('%s', (device) => {
  beforeAll(async () => {
    if (device === 'wgpu') registerKernelBackend((await initWebGpu()).backend);
  });

  // Products of 128 terms are summed in another order: 5e-5 absolute is what float32 leaves of values around 1.
  it.each(SAMPLES.map((sample) => [sample.name, sample] as const))('%s', async (_name, sample) => {
    const inputs = sample.inputs();
    const expected = forwardBackward(sample.fn, inputs);
    const compiled = compile(sample.fn);
    const copies = inputs.map((input) => onDevice(input, device));
    const { result, compiled: code } = await runAndGetCode(() => forwardBackward(compiled, copies));
    for (const [i, out] of result.outs.entries())
      await assertCloseAsync(out, expected.outs[i]!, {
        rtol: 1e-4,
        atol: 5e-5,
        message: `output ${i}`,
      });
    for (const [i, grad] of result.grads.entries())
      await assertCloseAsync(grad, expected.grads[i]!, {
        rtol: 1e-4,
        atol: 5e-5,
        message: `gradient ${i}`,
      });
    const [forward, backward] = code as [CompiledCode, CompiledCode];
    expectKernelCount(forward.plan, sample.kernels);
    expect(code.length).toBe(2);
    console.log(
      `${device} ${sample.name}: forward ${kernelCount(forward.plan)} kernels (PyTorch at best ${sample.kernels}), backward ${kernelCount(backward.plan)}`,
    );
  });
});
