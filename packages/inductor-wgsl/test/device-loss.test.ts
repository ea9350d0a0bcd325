/**
 * One device for all who ask, what happens when it is lost or full, and that code goes on afterwards.
 */
import { type TesseraError, isTesseraError } from '@tessera/shared';
import { Storage, type Tensor } from '@tessera/tensor';
import { makeTensor } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { type WebGpu, initWebGpu } from '../src/index.js';
import { findGpu } from '../src/runtime/device/find-gpu.js';
import { failingDevice } from './support/failing-device.js';
import { openGpu } from './support/open-gpu.js';
import { deviceTensor, readTensor, singlePlan } from './support/plans.js';
import { siluAdd, wave, zeros } from './support/sample-kernels.js';

const available = (await openGpu()) !== null;
const MIB = 2 ** 20;

async function errorOf(action: () => unknown): Promise<TesseraError> {
  try {
    await action();
  } catch (error) {
    if (isTesseraError(error)) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

/** Dawn's instance has to outlive its devices. */
const dawn = available ? await findGpu([]) : null;

async function ownDevice(): Promise<GPUDevice> {
  return (await dawn!.requestAdapter())!.requestDevice();
}

/** Memory for a tensor, as the factories make it. */
function uninitialised(bytes: number): Tensor {
  const storage = Storage.allocate('wgpu', bytes);
  storage.madeForDtype = 'float32';
  storage.madeForSizes = [bytes / 4];
  return makeTensor(storage, 'float32', 'wgpu', [bytes / 4], [1]);
}

const N = 64;
const inputsOn = (gpu: WebGpu): Tensor[] =>
  [wave(N), wave(N), zeros(N)].map((values) => deviceTensor(gpu, 'float32', values));

describe.skipIf(!available)('initWebGpu again', () => {
  it('gives the same device, also to two who ask at once', async () => {
    const [a, b] = await Promise.all([initWebGpu(), initWebGpu()]);
    expect(b).toBe(a);
    expect(await initWebGpu({ device: a.device })).toBe(a);
  });

  it('sets a budget on the device at hand', async () => {
    const gpu = await initWebGpu();
    expect(await initWebGpu({ memoryBudget: 64 * MIB })).toBe(gpu);
    expect((await errorOf(() => uninitialised(65 * MIB))).message).toContain('of 67108864 are in');
    await initWebGpu({ memoryBudget: Infinity });
  });

  it('gives another device when other options are asked for, and code follows its tensors', async () => {
    const first = await initWebGpu();
    const code = first.backend.load(singlePlan(siluAdd(N), () => N));
    const before = inputsOn(first);
    code.run(before, [], []);
    const expected = await readTensor(first, before[2]);
    const second = await initWebGpu({ device: await ownDevice() });
    expect(second).not.toBe(first);
    const after = inputsOn(second);
    code.run(after, [], []);
    expect(await readTensor(second, after[2])).toEqual(expected);
    const error = await errorOf(() => code.run(before, [], []));
    expect(error.code).toBe('use-after-dispose');
    expect(error.message).toContain('initWebGpu() has replaced');
  });
});

describe.skipIf(!available)('a lost device', () => {
  it('is told to listeners with the tensors that are gone, and code goes on with the next device', async () => {
    const device = await ownDevice();
    const gpu = await initWebGpu({ device });
    const code = gpu.backend.load(singlePlan(siluAdd(N), () => N));
    const before = inputsOn(gpu);
    code.run(before, [], []);
    const expected = await readTensor(gpu, before[2]);
    const kept = uninitialised(4096);
    const told: TesseraError[] = [];
    gpu.onLost((loss) => told.push(loss));
    gpu.onLost(() => told.push(new Error('taken back') as TesseraError))();
    device.destroy();
    await device.lost;
    await Promise.resolve();
    expect(gpu.isLost).toBe(true);
    expect(told).toHaveLength(1);
    expect(told[0].code).toBe('device-lost');
    expect(told[0].message).toContain('float32[1024] on wgpu: 4.0 KiB');
    // Who asks later is told too.
    const later = await new Promise<TesseraError>((resolve) => gpu.onLost(resolve));
    expect(later).toBe(told[0]);
    expect((await errorOf(() => code.run(before, [], []))).code).toBe('device-lost');

    const next = await initWebGpu();
    expect(next).not.toBe(gpu);
    const after = inputsOn(next);
    code.run(after, [], []);
    expect(await readTensor(next, after[2])).toEqual(expected);
    const error = await errorOf(() => next.runtime.download(kept.storage.memory!, 0, 'float32', 4));
    expect(error.code).toBe('device-lost');
    expect(error.message).toContain('float32[1024] on wgpu is gone');
  });
});

describe.skipIf(!available)('memory that is not to be had', () => {
  it('is an error that names who asked and who holds the rest, and loses nothing else', async () => {
    let full = true;
    const device = failingDevice(await ownDevice(), 80 * MIB, () => full);
    const gpu = await initWebGpu({ device });
    const code = gpu.backend.load(singlePlan(siluAdd(N), () => N));
    const inputs = inputsOn(gpu);
    const kept = uninitialised(8192);
    const refused = uninitialised(96 * MIB);
    // Recorded beside commands that use the memory that is not there.
    code.run(inputs, [], []);
    gpu.runtime.copy(kept.storage.memory!, 0, refused.storage.memory!, 0, 8192);
    const error = await errorOf(() => gpu.synchronize());
    expect(error.code).toBe('out-of-memory');
    expect(error.message).toContain('96.0 MiB for the tensor float32[25165824] on wgpu');
    expect(error.message).toContain('float32[2048] on wgpu: 8.0 KiB');
    await gpu.synchronize();
    // Its own use says so; everything else is there.
    expect(
      (await errorOf(() => gpu.runtime.download(refused.storage.memory!, 0, 'float32', 4))).code,
    ).toBe('out-of-memory');
    const done = await readTensor(gpu, inputs[2]);
    expect(done.some((value) => value !== 0)).toBe(true);
    refused.storage.release();
    full = false;
    const again = uninitialised(96 * MIB);
    await gpu.synchronize();
    gpu.runtime.copy(kept.storage.memory!, 0, again.storage.memory!, 0, 8192);
    await gpu.synchronize();
    again.storage.release();
  });

  it('is looked for in garbage before a budget is called exhausted', async () => {
    await initWebGpu({ memoryBudget: 8 * MIB });
    // One task: no collection comes by itself.
    for (let i = 0; i < 64; i++) uninitialised(MIB);
    const held = [];
    const error = await errorOf(() => {
      for (let i = 0; i < 64; i++) held.push(uninitialised(MIB));
    });
    expect(error.code).toBe('out-of-memory');
    expect(error.message).toContain('× float32[262144] on wgpu');
    expect(held.length).toBeGreaterThan(5);
    await initWebGpu({ memoryBudget: Infinity });
  });
});
