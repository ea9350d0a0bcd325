import { isTesseraError, type TesseraError } from '@tessera/shared';
import { describe, expect, it } from 'vitest';
import { initWebGpu, type WgslProgram } from '../src/index.js';
import { findGpu } from '../src/runtime/device/find-gpu.js';
import { openGpu } from './support/open-gpu.js';

const gpu = await openGpu({ memoryBudget: 1 << 20 });

async function errorOf(action: () => unknown): Promise<TesseraError> {
  try {
    await action();
  } catch (error) {
    if (isTesseraError(error)) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

function program(text: string): WgslProgram {
  return { text, workgroups: [1, 1], slots: [], uniforms: [], checks: [] };
}

describe.skipIf(gpu === null)('what WebGPU reports', () => {
  it('a rejected kernel is named by the next call', async () => {
    gpu!.runtime.pipelines.get(
      program('@compute @workgroup_size(1) fn main() { let x: u32 = 1.5; }'),
      'fused_mul_0',
    );
    const error = await errorOf(() => gpu!.synchronize());
    expect(error.code).toBe('gpu-validation');
    expect(error.message).toContain(`WebGPU rejected kernel 'fused_mul_0'`);
    expect(error.context.wgsl).toContain('1.5');
    await gpu!.synchronize();
  });

  it('an error outside any kernel is reported too', async () => {
    gpu!.device.createShaderModule({ code: 'not a shader' });
    expect((await errorOf(() => gpu!.synchronize())).code).toBe('gpu-validation');
  });

  it('a budget that is exhausted is named, and what is freed may be used again', async () => {
    const half = gpu!.runtime.allocate(600_000);
    const error = await errorOf(() => gpu!.runtime.allocate(600_000));
    expect(error.code).toBe('out-of-memory');
    expect(error.message).toMatch(/600000 more bytes were asked for, \d+ of 1048576 are in use/);
    gpu!.runtime.free(half);
    gpu!.runtime.free(gpu!.runtime.allocate(700_000));
  });

  it('a device that is gone says so, whatever is asked of it', async () => {
    const memory = gpu!.runtime.allocate(64);
    gpu!.dispose();
    expect((await errorOf(() => gpu!.runtime.allocate(64))).code).toBe('device-lost');
    expect((await errorOf(() => gpu!.runtime.download(memory, 0, 'float32', 4))).code).toBe(
      'device-lost',
    );
    expect((await errorOf(() => gpu!.synchronize())).code).toBe('device-lost');
  });

  it('an adapter that gave its device gives no other', async () => {
    const adapter = (await (await findGpu([])).requestAdapter())!;
    const first = await initWebGpu({ adapter });
    expect(await initWebGpu({ adapter })).toBe(first);
    first.dispose();
    expect((await errorOf(() => initWebGpu({ adapter }))).code).toBe('device-unavailable');
  });

  it('a device made elsewhere is used as it is', async () => {
    const adapter = (await (await findGpu([])).requestAdapter())!;
    const device = await adapter.requestDevice();
    const wrapped = await initWebGpu({ device });
    expect(wrapped.device).toBe(device);
    expect(wrapped.backend.capabilities.maxBuffersPerKernel).toBe(
      device.limits.maxStorageBuffersPerShaderStage,
    );
    // Somebody else ends it.
    device.destroy();
    await device.lost;
    expect((await errorOf(() => wrapped.runtime.allocate(64))).code).toBe('device-lost');
    wrapped.dispose();
  });
});
