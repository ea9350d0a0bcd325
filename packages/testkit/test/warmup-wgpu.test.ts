/**
 * @file `warmup` on WebGPU: pipelines are compiled beside the page, not in its way.
 */
import { compile, initWebGpu, warmup } from '@tessera/compile';
import { type Tensor, download, manualSeed, matmul, randn, softmax } from '@tessera/tensor';
import { type MockInstance, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { assertClose } from '../src/index.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

const gpu = wantsGpu ? await initWebGpu() : null;

vi.setConfig({ testTimeout: 120_000 });

/** The labels of the pipelines that a spied function was asked for. */
function labelsOf(spy: MockInstance<(of: GPUComputePipelineDescriptor) => unknown>): string[] {
  return spy.mock.calls.map(([{ label }]) => label!).sort();
}

describe.skipIf(gpu === null)('warmup on wgpu', () => {
  let blocking: MockInstance<GPUDevice['createComputePipeline']>;
  let beside: MockInstance<GPUDevice['createComputePipelineAsync']>;

  beforeEach(() => {
    manualSeed(0);
    const { device } = gpu!.runtime.context;
    blocking = vi.spyOn(device, 'createComputePipeline');
    beside = vi.spyOn(device, 'createComputePipelineAsync');
  });
  afterEach(() => vi.restoreAllMocks());

  it('asks for every pipeline of a function asynchronously; later calls ask for none', async () => {
    const [x, w] = [randn([256, 256]), randn([256, 320])];
    const [xOn, wOn] = [x.to('wgpu'), w.to('wgpu')];
    const f = (a: Tensor): Tensor => softmax(matmul(a, a.device === 'cpu' ? w : wOn), 1).add(1);
    const compiled = compile(f);
    await gpu!.synchronize();
    blocking.mockClear();
    const first = await warmup(compiled, xOn);
    expect(labelsOf(blocking)).toEqual([]);
    expect(labelsOf(beside).length).toBeGreaterThan(1);
    beside.mockClear();
    const second = compiled(xOn);
    expect([...labelsOf(blocking), ...labelsOf(beside)]).toEqual([]);
    const eager = f(x);
    for (const result of [first, second]) assertClose(await download(result), eager);
  });

  it('compiles blockingly only what binds a part of a slab, which the run decides', async () => {
    const compiled = compile((a: Tensor) => {
      const large = a.exp().add(1);
      return [large, large.sum()] as const;
    });
    const x = randn([256, 256]);
    const on = x.to('wgpu');
    await gpu!.synchronize();
    blocking.mockClear();
    const [large, sum] = await warmup(compiled, on);
    expect(labelsOf(beside)).toEqual(['fused_exp_add_sum_0']);
    expect(labelsOf(blocking)).toEqual(['fused_sum_1']);
    assertClose(await download(large), x.exp().add(1));
    assertClose(await download(sum), x.exp().add(1).sum());
  });
});
