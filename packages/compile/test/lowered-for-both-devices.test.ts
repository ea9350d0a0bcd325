/**
 * @file Operators that PyTorch's own kernels walk in order, written for kernels without an order: the numbers of the
 * reference kernels, on both devices.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { functional as F } from '@tessera/nn';
import { type Tensor, callOp, getOp, grad, manualSeed, randn, tensor } from '@tessera/tensor';
import { embeddingRenorm_, upsample } from '@tessera/tensor/internal';
import { compile, config, initWebGpu } from '../src/index.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

type Fn = (x: Tensor) => Tensor;
const resized =
  (outputSize: number[], alignCorners = false, mode: 'linear' | 'bicubic' = 'linear'): Fn =>
  (x) =>
    upsample(x, { outputSize, mode, antialias: true, alignCorners });
const renormed =
  (indices: unknown, maxNorm: number, type: number): Fn =>
  (x) =>
    embeddingRenorm_(
      x.clone(),
      tensor(indices as number[], { dtype: 'int64', device: x.device }),
      maxNorm,
      type,
    );

const DIFFERENTIABLE: [string, number[], Fn][] = [
  ['logcumsumexp', [37], (x) => x.mul(20).logcumsumexp(0)],
  ['logcumsumexp of columns', [5, 3], (x) => x.logcumsumexp(0)],
  ['logcumsumexp of rows', [3, 65], (x) => x.mul(100).logcumsumexp(-1)],
  ['logcumsumexp of one number', [], (x) => x.logcumsumexp(0)],
  ['logcumsumexp of what is turned', [4, 6], (x) => x.t().logcumsumexp(1)],
  ['shrinking', [1, 2, 9, 13], resized([4, 3])],
  ['shrinking between corners', [2, 1, 8, 8], resized([3, 5], true)],
  ['enlarging', [1, 1, 3, 4], resized([7, 5])],
  ['shrinking far', [1, 1, 64, 40], resized([2, 1])],
  ['one element', [1, 1, 1, 1], resized([1, 1])],
  ['shrinking, cubic', [1, 2, 9, 13], resized([4, 3], false, 'bicubic')],
  ['enlarging between corners, cubic', [2, 1, 3, 4], resized([7, 5], true, 'bicubic')],
];
const zeroTensor = getOp('aten::_efficientzerotensor');
const OTHERS: [string, number[], Fn][] = [
  [
    'a tensor that is known to be zero',
    [2, 3],
    (x) => x.add(callOp(zeroTensor, [[3], null, null, x.device, null]) as Tensor),
  ],
  ['rows scaled down', [6, 5], renormed([0, 4, 4, 2], 1, 2)],
  [
    'rows scaled down, by matrices of indices',
    [6, 5],
    renormed(
      [
        [0, 1],
        [5, 0],
      ],
      1.5,
      1,
    ),
  ],
  ['rows scaled down by their largest', [4, 3], renormed([3], 0.25, Infinity)],
  ['a row scaled down', [4, 3], renormed(3, 0.5, 0)],
  ['rows scaled down by a norm between', [4, 3], renormed([3, 1], 0.5, 3)],
  [
    'rows looked up and scaled down',
    [4, 3],
    (x) =>
      F.embedding(tensor([1, 2], { dtype: 'int64', device: x.device }), x.clone(), {
        maxNorm: 0.5,
      }),
  ],
];

function results(fn: Fn, x: Tensor, differentiable: boolean): Tensor[] {
  if (!differentiable) return [fn(x)];
  const leaf = x.detach().requiresGrad_();
  const out = fn(leaf);
  const [slope] = grad(out.mul(out).sum(), leaf, { createGraph: true });
  const [bend] = grad(slope!.mul(slope!).sum(), leaf, { allowUnused: true });
  return [out.detach(), slope!.detach(), ...(bend === null ? [] : [bend!])];
}

async function expectSame(got: Tensor[], expected: Tensor[]): Promise<void> {
  expect(got.map((t) => t.sizes)).toEqual(expected.map((t) => t.sizes));
  for (const [i, each] of got.entries()) {
    const have = [await each.toArray()].flat(4) as number[];
    const want = [expected[i]!.toArray()].flat(4) as number[];
    const scale = Math.max(1, ...want.map(Math.abs).filter(Number.isFinite));
    have.forEach((value, j) => {
      if (Number.isFinite(want[j])) expect(Math.abs(value - want[j]!) / scale).toBeLessThan(2e-5);
      else expect(value).toBe(want[j]);
    });
  }
}

const cases = [
  ...DIFFERENTIABLE.map((each) => [...each, true] as const),
  ...OTHERS.map((each) => [...each, false] as const),
];

function check(device: 'cpu' | 'wgpu'): void {
  it.each(cases)('%s', async (_name, sizes, fn, differentiable) => {
    manualSeed(3);
    const x = randn(sizes);
    const expected = config.patch({ 'eager.kernels': 'reference' }, () =>
      results(fn, x, differentiable),
    );
    await expectSame(results(fn, x.to(device), differentiable), expected);
    const compiled = compile((y: Tensor) => results(fn, y, differentiable));
    await expectSame(compiled(x.to(device)), expected);
    await expectSame([compile(fn)(x.to(device))], expected.slice(0, 1));
  });

  it('logarithms of nothing, of infinities and of what is no number', async () => {
    const { POSITIVE_INFINITY: inf, NaN: nan } = Number;
    const fn = (x: Tensor): Tensor => x.logcumsumexp(0);
    for (const values of [
      [-inf, -inf, 0, -inf, 1],
      [0, inf, 1, -inf],
      [1, nan, inf, 2],
      [inf, inf, -inf],
    ]) {
      const x = tensor(values);
      const expected = config.patch({ 'eager.kernels': 'reference' }, () => fn(x));
      for (const run of [fn, compile(fn)]) await expectSame([run(x.to(device))], [expected]);
    }
  });

  it('rows that are none are refused', async () => {
    const rows = tensor([[1, 2]], { device });
    const index = tensor([1], { dtype: 'int64', device });
    await expect((async () => embeddingRenorm_(rows, index, 1, 2).toArray())()).rejects.toThrow(
      expect.objectContaining({ code: 'index-out-of-range' }),
    );
  });
}

describe('on CPU', () => {
  check('cpu');
});

describe.skipIf(!wantsGpu)('on WebGPU', () => {
  beforeAll(async () => {
    await initWebGpu();
  });
  check('wgpu');
});
