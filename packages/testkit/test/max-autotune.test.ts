/**
 * @file `mode: 'max-autotune'` on WebGPU: tiles of new shapes are measured while the function runs.
 */
import { compile, initWebGpu, registerKernelBackend } from '@tessera/compile';
import { type Tensor, download, randn } from '@tessera/tensor';
import { toDevice } from '@tessera/tensor/internal';
import { beforeAll, describe, expect, it } from 'vitest';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

const fn = (x: Tensor, y: Tensor): Tensor => x.matmul(y).relu();

describe.skipIf(!wantsGpu)('max-autotune on wgpu', () => {
  let gpu: Awaited<ReturnType<typeof initWebGpu>>;
  beforeAll(async () => {
    gpu = await initWebGpu();
    registerKernelBackend(gpu.backend);
  });

  async function check(compiled: typeof fn, [m, k, n]: readonly [number, number, number]) {
    const [x, y] = [randn([m, k]), randn([k, n])];
    const out = await download(compiled(toDevice(x, 'wgpu'), toDevice(y, 'wgpu')));
    expect(out.sub(fn(x, y)).abs().max().item()).toBeLessThan(1e-4);
  }

  it('measures each shape class once, and results stay right', async () => {
    const { tiles } = gpu.backend;
    await check(compile(fn, { mode: 'default' }), [40, 20, 36]);
    await gpu.tuned();
    expect(tiles.size).toBe(0);
    const compiled = compile(fn, { mode: 'max-autotune' });
    for (let i = 0; i < 2; i++) await check(compiled, [40, 20, 36]);
    await gpu.tuned();
    expect(tiles.size).toBe(1);
    const measured = [...tiles.entries()];
    for (let i = 0; i < 2; i++) await check(compiled, [40, 20, 36]);
    // The same class: what is known is taken.
    await check(compile(fn, { mode: 'max-autotune' }), [39, 19, 35]);
    await gpu.tuned();
    expect([...tiles.entries()]).toEqual(measured);
    await check(compile(fn, { mode: 'max-autotune' }), [70, 20, 36]);
    await gpu.tuned();
    expect(tiles.size).toBe(2);
  });
});
