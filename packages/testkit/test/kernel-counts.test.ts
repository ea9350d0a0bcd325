/**
 * @file Compiled functions take no more kernels than PyTorch's compiler generates for them, in inference and in
 * training; exceptions are named in the list, with their reasons.
 */
import { compile, initWebGpu, registerKernelBackend } from '@tessera/compile';
import { type DeviceType, type Tensor, isFloatingPoint, isTensor, noGrad } from '@tessera/tensor';
import { toDevice } from '@tessera/tensor/internal';
import { beforeAll, describe, expect, it } from 'vitest';
import { assertCloseAsync, kernelCount, runAndGetCode } from '../src/index.js';
import { KERNEL_FUNCTIONS, type KernelFunction } from './kernel-functions.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

const DEVICES: readonly DeviceType[] = wantsGpu ? ['cpu', 'wgpu'] : ['cpu'];

/** What a run gives: results, then gradients. */
function runOn(
  fn: (...inputs: Tensor[]) => Tensor | readonly Tensor[],
  inputs: readonly Tensor[],
  { training }: KernelFunction,
): Tensor[] {
  const results = (): Tensor[] => {
    const result = fn(...inputs);
    return isTensor(result) ? [result] : [...result];
  };
  if (!training) return noGrad(results);
  const [out] = results() as [Tensor];
  out.backward(out.detach());
  return [out, ...inputs.flatMap(({ grad }) => (grad == null ? [] : [grad]))];
}

function leavesOn(inputs: readonly Tensor[], device: DeviceType, sample: KernelFunction): Tensor[] {
  return inputs.map((input) => {
    const leaf = toDevice(input.detach(), device);
    return sample.training && isFloatingPoint(leaf.dtype) ? leaf.requiresGrad_() : leaf;
  });
}

describe.each(DEVICES)('%s', (device) => {
  beforeAll(async () => {
    if (device === 'wgpu') registerKernelBackend((await initWebGpu()).backend);
  });

  it.each(KERNEL_FUNCTIONS.map((sample) => [sample.name, sample] as const))(
    '%s',
    async (_, sample) => {
      const { fn, inputs, module } = sample.make();
      const expected = runOn(fn, leavesOn(inputs, 'cpu', sample), sample);
      module?.to(device).zeroGrad();
      const compiled = compile(fn as (...args: Tensor[]) => Tensor);
      const { result, compiled: code } = await runAndGetCode(() =>
        runOn(compiled, leavesOn(inputs, device, sample), sample),
      );
      expect(result).toHaveLength(expected.length);
      for (const [i, value] of result.entries())
        await assertCloseAsync(value, expected[i]!, { rtol: 1e-3, atol: 1e-4 });
      const launches = code.reduce((sum, { plan }) => sum + kernelCount(plan), 0);
      const { exception } = sample;
      const excepted = exception !== undefined && (exception.on ?? device) === device;
      if (excepted) expect(launches).toBe(exception.kernels);
      else expect(launches).toBeLessThanOrEqual(sample.torch);
    },
    // A software adapter takes its time.
    120_000,
  );
});
