/**
 * @file `segmentReduce` and its gradients, compiled on both devices: segments are found by values, in one graph.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { type Tensor, grad, segmentReduce, tensor } from '@tessera/tensor';
import { compile, initWebGpu } from '../src/index.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

const x = tensor([
  [1, -2],
  [3, 4],
  [5, 0.5],
  [7, 8],
  [2, 2],
]);
const lengths = tensor([2, 0, 3], { dtype: 'int64' });

/** All reductions, each with the gradient of a weighted sum. */
function all(data: Tensor, sizes: Tensor): Tensor[] {
  return (['sum', 'mean', 'max', 'min', 'prod'] as const).flatMap((reduce) => {
    const leaf = data.detach().requiresGrad_();
    const y = segmentReduce(leaf, reduce, { lengths: sizes, initial: 0.5 });
    return [y.detach(), grad(y.mul(y).sum(), leaf)[0]!];
  });
}

async function expectSame(got: readonly Tensor[], sizes = lengths): Promise<void> {
  for (const [i, each] of all(x, sizes).entries()) {
    const values = tensor(await got[i]!.toArray());
    expect(values.allclose(each)).toBe(true);
  }
}

it('on the CPU', async () => {
  const compiled = compile(all, { fullgraph: true });
  await expectSame(compiled(x, lengths));
  const other = tensor([1, 3, 1], { dtype: 'int64' });
  await expectSame(compiled(x, other), other);
});

describe.runIf(wantsGpu)('on WebGPU', () => {
  beforeAll(async () => {
    await initWebGpu();
  });
  it('eager and compiled', async () => {
    const [far, sizes] = [x.to('wgpu'), lengths.to('wgpu')];
    await expectSame(all(far, sizes));
    await expectSame(compile(all, { fullgraph: true })(far, sizes));
  });
});
