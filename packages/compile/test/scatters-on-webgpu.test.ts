/**
 * @file Scatters into results so large that stores combine, and the first places of long rows, on WebGPU: eager and compiled,
 * beside the reference kernels of the CPU.
 */
import { functional as F } from '@tessera/nn';
import {
  type Tensor,
  download,
  grad,
  manualSeed,
  rand,
  randint,
  randn,
  randperm,
} from '@tessera/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { sampleName, sampled } from '../../../tooling/full-tests.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';
import { compile, initWebGpu } from '../src/node.js';

type Fn = (...inputs: Tensor[]) => Tensor | readonly Tensor[];

/** The gradients of Σ y² for the inputs of floats. */
function gradients(fn: (...inputs: Tensor[]) => Tensor): Fn {
  return (...inputs) => {
    const leaves = inputs.map((x) => (x.dtype === 'float32' ? x.detach().requiresGrad_() : x));
    const y = fn(...leaves);
    return grad(
      y.mul(y).sum(),
      leaves.filter((x) => x.requiresGrad),
    ) as Tensor[];
  };
}

const at = (below: number, ...sizes: number[]): Tensor => randint(0, below, sizes);

const CASES: [string, Fn, () => Tensor[]][] = [
  [
    'scatter_add along rows',
    (x, i, y) => x!.scatterAdd(1, i!, y!),
    () => [randn([64, 512]), at(512, 64, 512), randn([64, 512])],
  ],
  [
    'scatter_add of a part',
    (x, i, y) => x!.scatterAdd(0, i!, y!),
    () => [randn([2048, 9]), at(2048, 900, 7), randn([901, 8])],
  ],
  [
    'scatter, the last of several',
    (x, i, y) => x!.scatter(0, i!, y!),
    () => [randn([5001]), at(5001, 7003), randn([7003])],
  ],
  [
    'index_add with a factor',
    (x, i, y) => x!.indexAdd(1, i!, y!, { alpha: -2 }),
    () => [randn([16, 1024]), at(1024, 1024), randn([16, 1024])],
  ],
  [
    'index_add of bytes, which wrap',
    (x, i, y) => x!.indexAdd(0, i!, y!),
    () => [at(255, 9001).to('uint8'), at(9001, 1024), at(255, 1024).to('uint8')],
  ],
  [
    'index_copy',
    (x, i, y) => x!.indexCopy(0, i!, y!),
    () => [randn([1024, 16]), randperm(1024).narrow(0, 0, 900), randn([900, 16])],
  ],
  [
    'index_put of rows named more than once',
    (x, i, y) => x!.indexPut([i!], y!),
    () => [randn([512, 64]), at(20, 300), randn([300, 64])],
  ],
  [
    'index_put that adds, between other dimensions',
    (x, i, y) => x!.indexPut([null, i!], y!, { accumulate: true }),
    () => [randn([20, 100, 11]), at(100, 200).sub(100), randn([20, 200, 11])],
  ],
  [
    'scatter_reduce to means',
    (x, i, y) => x!.scatterReduce(0, i!, y!, 'mean', { includeSelf: false }),
    () => [randn([5000]), at(5000, 7000), randn([7000])],
  ],
  [
    'the gradient of gather',
    gradients((x, i) => x!.gather(1, i!)),
    () => [randn([32, 1024]), at(1024, 32, 1024)],
  ],
  [
    'the gradient of indexing',
    gradients((x, i, j) => x!.index([i!, j!])),
    () => [randn([256, 128]), at(256, 1000), at(128, 1000)],
  ],
  [
    'the gradient of a table, some rows of which do not count',
    gradients((x, i) => F.embedding(i!, x!, { paddingIdx: 3 })),
    () => [randn([30_000, 4]), at(30_000, 13_000)],
  ],
  [
    'the gradient of samples of an image',
    gradients((x, g) => F.gridSample(x!, g!, { alignCorners: false })),
    () => [randn([1, 2, 60, 60]), rand([1, 61, 61, 2]).mul(2).sub(1)],
  ],
];

/** To prove the kernels that merge takes most of the time. */
const ORDERS: typeof CASES = [
  ['the largest of each row', (x) => x!.topk(5), () => [randn([3, 1203])]],
  ['the first of many equal ones', (x) => x!.topk(40)[0], () => [at(5, 1201)]],
  ['a place in order', (x) => x!.kthvalue(60, { dim: 1 })[0], () => [randn([2, 1100])]],
];

describe.skipIf(!wantsGpu)(`on WebGPU, as on the CPU (${sampleName})`, () => {
  beforeAll(async () => {
    await initWebGpu();
  });

  it.each([...CASES, ...sampled(ORDERS, 3)])('%s', { timeout: 240_000 }, async (_, fn, inputs) => {
    manualSeed(5);
    const given = inputs();
    const listed = (made: ReturnType<Fn>): readonly Tensor[] =>
      Array.isArray(made) ? (made as Tensor[]) : [made as Tensor];
    const expected = listed(fn(...given));
    const there = given.map((x) => x.to('wgpu'));
    for (const run of [fn, compile(fn, { fullgraph: true })]) {
      const actual = listed(run(...there));
      expect(actual).toHaveLength(expected.length);
      for (const [i, each] of actual.entries()) {
        const read = await download(each);
        expect(read.dtype).toBe(expected[i]!.dtype);
        expect(read.allclose(expected[i]!, { rtol: 1e-4, atol: 1e-4 })).toBe(true);
      }
    }
  });

  it('an index that is out of range is refused, whatever went elsewhere', async () => {
    const i = at(5001, 7003).indexFill(0, randint(7, 8, [1]), 5001);
    const sum = randn([5001])
      .to('wgpu')
      .scatterAdd(0, i.to('wgpu'), randn([7003]).to('wgpu'));
    await expect(download(sum)).rejects.toThrow(/index 5001 is out of bounds/);
  });
});
