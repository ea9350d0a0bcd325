/**
 * @file Caches of models on WebGPU: what they hold, and places of tokens, is there too.
 */
import { initWebGpu } from '@tessera/compile';
import { type Tensor, noGrad, tensor, tidy } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { GrowingCache, StaticCache } from '../src/index.js';
import { tinyModel } from './support/tiny-model.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

describe.skipIf(!wantsGpu)('a model on WebGPU', () => {
  it.each([
    [
      'a static cache',
      (model: ReturnType<typeof tinyModel>, device: 'cpu' | 'wgpu') =>
        new StaticCache(model.config, 16, { batch: 1, device }),
    ],
    ['a growing cache', (model: ReturnType<typeof tinyModel>) => new GrowingCache(model.config)],
  ])('gives the logits of the CPU with %s', async (_, make) => {
    await initWebGpu();
    const model = tinyModel();
    const run = async (device: 'cpu' | 'wgpu'): Promise<number[]> => {
      model.to(device);
      const cache = make(model, device);
      const call = (ids: number[]): Tensor =>
        noGrad(() => model.call(tensor([ids], { dtype: 'int64', device }), { cache }));
      call([3, 17, 5]);
      return ((await call([29]).toArray()) as number[][][]).flat(2);
    };
    const [wanted, actual] = [await run('cpu'), await run('wgpu')];
    for (const [i, value] of actual.entries()) expect(value).toBeCloseTo(wanted[i]!, 3);
  });

  it('keeps its table of positions when what a call made is tidied up', async () => {
    await initWebGpu();
    const model = tinyModel();
    model.to('wgpu');
    const ids = tensor([[3, 17, 5]], { dtype: 'int64', device: 'wgpu' });
    const logits = async (): Promise<unknown> => {
      const kept = tidy(() => noGrad(() => model.call(ids)));
      return kept.toArray();
    };
    expect(await logits()).toEqual(await logits());
  });

  it('has its table of positions on the device that came after a lost one', async () => {
    const first = await initWebGpu();
    const model = tinyModel();
    const weights = model.stateDict();
    const host = new Map(Object.entries(weights).map(([name, x]) => [name, x.clone()]));
    const logits = async (): Promise<number[]> => {
      model.loadStateDict(Object.fromEntries([...host].map(([name, x]) => [name, x.to('wgpu')])), {
        assign: true,
      });
      const ids = tensor([[3, 17, 5]], { dtype: 'int64', device: 'wgpu' });
      return ((await noGrad(() => model.call(ids)).toArray()) as number[][][]).flat(2);
    };
    const wanted = await logits();
    const lost = new Promise((resolve) => first.onLost(resolve));
    first.device.destroy();
    await lost;
    await initWebGpu();
    expect(await logits()).toEqual(wanted);
  });
});
