/**
 * @file Gradients of attention on a device that keeps those of scores between kernels: the numbers of eager on the CPU.
 */
import { describe, expect, it } from 'vitest';
import { functional as F } from '@tessera/nn';
import { type Tensor, grad, manualSeed, randn } from '@tessera/tensor';
import { compile, initWebGpu } from '../src/index.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

const [BATCH, HEADS, KEY_HEADS, LENGTH, WIDTH] = [2, 2, 1, 33, 64];

describe.skipIf(!wantsGpu)('gradients of attention on WebGPU', () => {
  it('are those of the CPU, of heads that share their keys', async () => {
    await initWebGpu();
    manualSeed(3);
    const given = [HEADS, KEY_HEADS, KEY_HEADS].map((heads) =>
      randn([BATCH, heads, LENGTH, WIDTH]),
    );
    const loss = (query: Tensor, key: Tensor, value: Tensor): Tensor =>
      F.scaledDotProductAttention(query, key, value, { isCausal: true, enableGqa: true })
        .sin()
        .sum();
    const gradients = (device: 'cpu' | 'wgpu', fn: typeof loss): Tensor[] => {
      const leaves = given.map((x) => x.to(device).detach().requiresGrad_());
      return grad(fn(leaves[0]!, leaves[1]!, leaves[2]!), leaves) as Tensor[];
    };
    const wanted = gradients('cpu', loss);
    for (const [i, x] of gradients('wgpu', compile(loss)).entries()) {
      const numbers = ((await x.toArray()) as number[][][][]).flat(3);
      for (const [at, w] of (wanted[i]!.toArray() as number[][][][]).flat(3).entries())
        expect(Math.abs(numbers[at]! - w), `gradient ${i} at ${at}`).toBeLessThan(2e-5);
    }
  });
});
