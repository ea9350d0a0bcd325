/**
 * Compiled functions and eager operators after the device was lost: they go on by themselves on the next one.
 */
import { Linear, functional as F, optim } from '@tessera/nn';
import { type TesseraError, counters, isTesseraError } from '@tessera/shared';
import { type Tensor, manualSeed, randn } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, initWebGpu } from '../src/index.js';

const wanted =
  process.env['VK_ICD_FILENAMES'] !== undefined || process.env['TESSERA_REQUIRE_WEBGPU'] === '1';
if (!wanted)
  console.warn('WebGPU tests did not run: no adapter (set VK_ICD_FILENAMES, see CONTRIBUTING.md).');

async function errorOf(action: () => unknown): Promise<TesseraError> {
  try {
    await action();
  } catch (error) {
    if (isTesseraError(error)) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe.skipIf(!wanted)('after the device was lost', () => {
  it('a training step goes on from a checkpoint, without being compiled again', async () => {
    const gpu = await initWebGpu();
    manualSeed(1);
    const model = new Linear(4, 3);
    const checkpoint = model.stateDict();
    const copy = Object.fromEntries(
      [...Object.entries(checkpoint)].map(([name, value]) => [name, (value as Tensor).clone()]),
    );
    const data = randn([8, 4]);
    const load = (): void =>
      void model.loadStateDict(
        Object.fromEntries(Object.entries(copy).map(([name, value]) => [name, value.to('wgpu')])),
        { assign: true },
      );
    load();
    const forward = compile((x: Tensor): Tensor => F.gelu(model.call(x) as Tensor).sum());
    const train = async (): Promise<number[]> => {
      const x = data.to('wgpu');
      const optimizer = new optim.SGD(model.parameters(), { lr: 0.1 });
      const losses: number[] = [];
      for (let i = 0; i < 3; i++) {
        optimizer.zeroGrad();
        const loss = forward(x);
        loss.backward();
        optimizer.step();
        losses.push(Number(await loss.item()));
      }
      return losses;
    };
    const expected = await train();
    const old = data.to('wgpu');

    const lost = new Promise<TesseraError>((resolve) => gpu.onLost(resolve));
    gpu.device.destroy();
    expect((await lost).code).toBe('device-lost');
    expect((await errorOf(() => forward(old))).code).toBe('device-lost');
    const next = await initWebGpu();
    expect(next).not.toBe(gpu);
    const gone = await errorOf(() => old.add(1).toArray());
    expect(gone.code).toBe('device-lost');
    expect(gone.message).toContain('float32[8, 4] on wgpu is gone');

    load();
    const before = counters.get('inductor')['graphs'];
    expect(await train()).toEqual(expected);
    expect(counters.get('inductor')['graphs']).toBe(before);
  });
});
