/**
 * @file How many kernels a step of one token launches for each layer on WebGPU: each costs more than most of them take.
 */
import { compile, initWebGpu, observeCompilations } from '@tessera/compile';
import { noGrad, tensor } from '@tessera/tensor';
import { describe, expect, it, vi } from 'vitest';
import { quantize, type QuantizeFormat, StaticCache } from '../src/index.js';
import { LLAMA, tinyModel } from './support/tiny-model.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

/** Wide enough that kernels are cut as those of large models are. */
const SHAPE = { ...LLAMA, hidden_size: 128, intermediate_size: 320 };

/** Launches of the steps that a model of so many layers takes, and how far its logits are from those on the CPU. */
async function stepOf(
  layers: number,
  format?: QuantizeFormat,
): Promise<{ launches: number; error: number }> {
  const model = tinyModel({ ...SHAPE, num_hidden_layers: layers });
  if (format !== undefined) await quantize(model, format);
  const [eager, own] = (['cpu', 'wgpu'] as const).map(
    (device) => new StaticCache(model.config, 256, { batch: 1, device }),
  ) as [StaticCache, StaticCache];
  const tokens = [3, 17, 5, 29];
  const numbers = (x: number[] | number[][], device: 'cpu' | 'wgpu') =>
    tensor(x, { dtype: 'int64', device });
  const wanted = noGrad(() =>
    tokens.map((id, at) =>
      model.at(numbers([[id]], 'cpu'), numbers([at], 'cpu'), { cache: eager }),
    ),
  );
  model.to('wgpu');
  const step = compile((ids, places) => model.at(ids, places, { cache: own }), {
    fullgraph: true,
  });
  let launches = 0;
  const stop = observeCompilations((_, { plan }) => (launches = plan.launches.length));
  let error = 0;
  for (const [at, id] of tokens.entries()) {
    const [ids, places] = [numbers([[id]], 'wgpu'), numbers([at], 'wgpu')];
    const actual = await noGrad(() => step(ids, places)).toArray();
    const [a, w] = [actual, wanted[at]!.toArray()].map((x) => (x as number[][][]).flat(2));
    error = Math.max(error, ...a!.map((x, i) => Math.abs(x - w![i]!)));
  }
  stop();
  return { launches, error };
}

describe.skipIf(!wantsGpu)('a step of one token on WebGPU', () => {
  it('copies nothing from the host', async () => {
    const { runtime } = await initWebGpu({ profile: 'gpu' });
    const model = tinyModel({ ...LLAMA, rope_scaling: { rope_type: 'dynamic', factor: 2 } });
    model.to('wgpu');
    const cache = new StaticCache(model.config, 128, { batch: 1, device: 'wgpu' });
    const step = compile((ids, places) => model.at(ids, places, { cache }));
    const [ids, first, second] = [[[3]], [0], [1]].map((x) =>
      tensor(x, { dtype: 'int64', device: 'wgpu' }),
    );
    noGrad(() => step(ids!, first!));
    const upload = vi.spyOn(runtime, 'upload');
    noGrad(() => step(ids!, second!));
    expect(upload).not.toHaveBeenCalled();
    upload.mockRestore();
  });

  it('launches few kernels a layer', async () => {
    // As for GPUs: where launches cost little, norms are kernels of their own.
    await initWebGpu({ profile: 'gpu' });
    const [two, four] = [await stepOf(2), await stepOf(4)];
    expect((four.launches - two.launches) / 2).toBe(6);
    expect(Math.max(two.error, four.error)).toBeLessThan(1e-3);
  });

  it.each([{ bits: 8 }, { bits: 4, group: 32 }] as const)(
    'launches as few where weights are rounded: %j',
    async (format) => {
      await initWebGpu({ profile: 'gpu' });
      const [two, four] = [await stepOf(2, format), await stepOf(4, format)];
      expect((four.launches - two.launches) / 2).toBe(7);
      expect(Math.max(two.error, four.error)).toBeLessThan(1e-3);
    },
  );
});
