/**
 * @file The WebGPU backend passes the suite on a device with WebGPU's default limits and no optional feature: 8
 * storage buffers, bindings of 128 MiB, workgroups of 256 threads and 16 KiB, 65,535 workgroups a dimension.
 */
import { initWebGpu } from '@tessera/compile';
import { expect, it, vi } from 'vitest';
import { sampleName, sampled } from '../../../tooling/full-tests.js';
import { testBackendConformance } from '../src/index.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

const device = wantsGpu ? await deviceWithDefaults() : null;
const gpu = device === null ? null : await initWebGpu({ device, profile: 'gpu' });

async function deviceWithDefaults(): Promise<GPUDevice> {
  const first = await initWebGpu();
  const source = first.runtime.context.gpu ?? (navigator as unknown as { gpu: GPU }).gpu;
  const adapter = await source.requestAdapter();
  return adapter!.requestDevice();
}

vi.setConfig({ testTimeout: 60_000 });
const cases: [name: string, run: () => Promise<void>][] = [];
if (gpu !== null) testBackendConformance((...entry) => cases.push(entry), gpu.backend);
it.each(sampled(cases, 3))(`%s (${sampleName})`, (_, run) => run());

it.skipIf(gpu === null)('the device offers no more than every WebGPU does', () => {
  const { target } = gpu!.backend;
  expect(target).toMatchObject({
    f16: false,
    subgroups: null,
    maxStorageBuffers: 8,
    maxWorkgroupThreads: 256,
    maxWorkgroupBytes: 16384,
    maxWorkgroupsPerDimension: 65535,
    maxBindingBytes: 2 ** 27,
  });
  expect(device!.limits.maxStorageBufferBindingSize).toBe(128 * 2 ** 20);
});

it.skipIf(gpu === null)('a tensor larger than a binding is refused with its limit', () => {
  expect(() => gpu!.runtime.allocate(128 * 2 ** 20 + 1)).toThrow(
    '134217729 bytes are more than one WebGPU buffer of this adapter may hold (134217728)',
  );
});
