/**
 * @file Corners of WebGPU: results that compilers of shaders like to fold, integers at their limits, and nothing at all.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import {
  type Tensor,
  arange,
  cartesianProd,
  manualSeed,
  noGrad,
  randint,
  tensor,
  xlogy,
  zeros,
} from '@tessera/tensor';
import { gridSample } from '@tessera/tensor/internal';
import { compile, config, initWebGpu } from '../src/index.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

type Fn = (x: Tensor) => Tensor | Tensor[];
const valuesOf = async (result: Tensor | Tensor[]): Promise<unknown[]> =>
  Promise.all([result].flat().map(async (each) => each.toArray()));

/** Eager and compiled on WebGPU give what the reference kernels do. */
async function expectReference(fn: Fn, x: Tensor): Promise<void> {
  const expected = await config.patch({ 'eager.kernels': 'reference' }, () => valuesOf(fn(x)));
  expect(await valuesOf(fn(x.to('wgpu')))).toEqual(expected);
  expect(await valuesOf(compile(fn)(x.to('wgpu')))).toEqual(expected);
}

const { POSITIVE_INFINITY: inf, NaN: nan } = Number;

describe.skipIf(!wantsGpu)('on WebGPU', () => {
  beforeAll(async () => {
    await initWebGpu();
  });

  it.each<[string, Fn]>([
    ['times zero', (x) => x.mul(0)],
    ['times zero, plus', (x) => x.mul(0).add(x)],
    ['times the logarithm of one', (x) => xlogy(x, 1)],
    ['less itself', (x) => x.sub(x)],
    ['by itself', (x) => x.div(x)],
    ['by itself, as another tensor', (x) => x.maximum(x).div(x)],
    ['overwritten with zero and divided by itself', (x) => x.mul(0).zero_().div(x.mul(0).zero_())],
    ['times a half float of zero', (x) => x.to('float16').mul(0)],
  ])('what is no number, %s, is none', (_name, fn) =>
    expectReference(fn, tensor([0, 1.5, nan, inf, -inf, -2, nan])),
  );

  it.each(['bilinear', 'nearest', 'bicubic'] as const)(
    'sampling at places that are none is as on the CPU, %s',
    (mode) =>
      expectReference(
        (x) => {
          const image = arange(20, { dtype: 'float32', device: x.device }).reshape([1, 1, 4, 5]);
          const places = cartesianProd([x, x]).reshape([1, 4, 4, 2]);
          return (['zeros', 'border', 'reflection'] as const).map((paddingMode) =>
            gridSample(image, places, { mode, paddingMode }),
          );
        },
        tensor([nan, 0.25, inf, -inf]),
      ),
  );

  it('truth values that are one element, read at checked places', () =>
    expectReference(
      (x) => {
        const whether = x.narrow(0, 0, 1).to('bool').expand([8]);
        return whether.indexSelect(0, x.to('int64')).logicalAnd(x.gt(1));
      },
      tensor([1, 0, 3, 2, 7, 6, 5, 4]),
    ));

  it.each<[string, Fn]>([
    ['running minima', (x) => x.cummin(1)],
    ['running maxima', (x) => x.cummax(1)],
    [
      'least of what meets',
      (x) => x.scatterReduce(1, x.mul(0).slice(1, 0, 2), x, 'amin', { includeSelf: false }),
    ],
  ])('%s of int64', (_name, fn) =>
    expectReference(
      fn,
      tensor(
        [0, 7].map((first) => Array.from({ length: 71 }, (_, i) => first - ((i * 37) % 19))),
        { dtype: 'int64' },
      ),
    ),
  );

  it.each<[string, Fn]>([
    ['medians', (x) => x.median()],
    ['medians that skip NaN', (x) => x.nanmedian()],
    ['medians of rows', (x) => x.median(1)],
    ['medians of columns that skip NaN', (x) => x.t().nanmedian(0)],
    ['modes', (x) => x.mode(1)],
    ['values by rank', (x) => x.kthvalue(2, { dim: 1 })],
    ['sums', (x) => [x.sum(), x.prod(), x.sum(0)]],
  ])('%s of nothing', async (_name, fn) => {
    for (const dtype of ['float32', 'float16'] as const)
      await expectReference(fn, zeros([0, 4], { dtype }));
  });

  const few = [0, 1, -1, 2, -3, 7, 40, -128];
  const integers = (values: number[]): Tensor => tensor(values, { dtype: 'int64' });
  it.each<[string, Fn]>([
    ['powers', (x) => x.clamp(-3, 4).unsqueeze(1).pow(x.clamp(0, 7).to(x.device))],
    ['squares', (x) => x.pow(2)],
    ['shifts', (x) => x.unsqueeze(1).bitwiseLeftShift(x.clamp(0, 20))],
    ['products of matrices', (x) => x.view([2, 4]).mm(x.view([4, 2]))],
    ['products of stacks', (x) => x.view([2, 1, 4]).bmm(x.view([2, 4, 1]))],
    [
      'sums that leave 32 bits on the way',
      (x) =>
        x
          .view([2, 4])
          .clamp(1, 1)
          .mul(2e9)
          .mm(x.view([4, 2]).clamp(0, 0)),
    ],
  ])('%s of int64 that fit', (_name, fn) => expectReference(fn, integers(few)));

  it('random integers of large ranges are those of the CPU', () =>
    expectReference((x) => {
      manualSeed(3);
      return randint(-5, 2 ** 31 - 6, [7], { device: x.device });
    }, tensor(0)));

  it.each<[string, number[], Fn]>([
    ['squares', [100_000], (x) => x.pow(2)],
    ['powers', [10, 3], (x) => x.pow(x.mul(0).add(20))],
    ['powers of what is lost', [2e9, 1], (x) => x.add(x).pow(1)],
    ['shifts', [1, 5], (x) => x.bitwiseLeftShift(31)],
    ['shifts beyond the word', [1, 5], (x) => x.bitwiseLeftShift(x.mul(0).add(40))],
    ['products of matrices', [70_000, 70_000, 1, 1], (x) => x.view([2, 2]).mm(x.view([2, 2]))],
    ['random numbers', [1], (x) => randint(-5, 2 ** 40, [7], { device: x.device })],
  ])('%s of int64 that do not fit are errors', async (_name, values, fn) => {
    const x = integers(values).to('wgpu');
    for (const run of [fn, compile(fn)])
      await expect(valuesOf(run(x))).rejects.toThrow(/has no value/);
  });

  it('indices are checked in rows of odd lengths, and only those of the rows', async () => {
    const [rows, columns] = [1021, 1031];
    const x = randint(0, 100, [rows, columns], { dtype: 'float32' });
    const index = randint(0, columns, [rows, columns]);
    const pick = compile((values: Tensor, places: Tensor) => values.gather(1, places).add(1));
    const found = await pick(x.to('wgpu'), index.to('wgpu')).toTypedArray();
    const wanted = x.gather(1, index).add(1).toTypedArray();
    expect(found.findIndex((value, i) => value !== wanted[i])).toBe(-1);
    noGrad(() =>
      index
        .select(0, rows - 1)
        .narrow(0, columns - 1, 1)
        .fill_(columns),
    );
    await expect(pick(x.to('wgpu'), index.to('wgpu')).toTypedArray()).rejects.toMatchObject({
      code: 'index-out-of-range',
    });
  });
});
