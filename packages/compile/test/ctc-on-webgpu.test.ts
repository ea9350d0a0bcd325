/**
 * @file `ctcLoss` on WebGPU with the labels of all samples in one row: as on the CPU, wherever the lengths are.
 */
import { functional as F } from '@tessera/nn';
import {
  type Tensor,
  download,
  grad,
  logSoftmax,
  manualSeed,
  randn,
  tensor,
} from '@tessera/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { compile, initWebGpu } from '../src/node.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

const int = { dtype: 'int64' } as const;
type Lengths = number[] | Tensor;

describe.skipIf(!wantsGpu)('labels one after the other', () => {
  beforeAll(async () => {
    await initWebGpu();
  });

  const COUNTS = [2, 0, 3];
  it.each<[string, Lengths, Lengths]>([
    ['numbers', COUNTS, COUNTS],
    ['a tensor on the CPU', tensor(COUNTS, int), tensor(COUNTS, int)],
    ['a tensor on WebGPU', tensor(COUNTS, int), COUNTS],
  ])('with lengths that are %s', async (name, lengths, other) => {
    manualSeed(2);
    const x = randn([6, 3, 4]);
    const labels = tensor([1, 3, 2, 2, 1], int);
    const there = name.endsWith('WebGPU') ? (lengths as Tensor).to('wgpu') : lengths;
    const losses = (x: Tensor, counts: Lengths): Tensor[] => {
      const leaf = x.detach().requiresGrad_();
      const targets = labels.to(x.device);
      const each = F.ctcLoss(logSoftmax(leaf, 2), targets, [6, 5, 6], counts, {
        reduction: 'none',
      });
      return [each.detach(), grad(each.sum(), [leaf])[0]!];
    };
    const expected = losses(x, other);
    for (const run of [losses, compile(losses)]) {
      const made = run(x.to('wgpu'), there);
      for (const [i, each] of made.entries())
        expect((await download(each)).allclose(expected[i]!, { rtol: 1e-4, atol: 1e-5 })).toBe(
          true,
        );
    }
  });
});
