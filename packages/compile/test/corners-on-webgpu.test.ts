/**
 * @file Corners of WebGPU: results that compilers of shaders like to fold, integers at their limits, and nothing at all.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { type Tensor, tensor, xlogy } from '@tessera/tensor';
import { compile, config, initWebGpu } from '../src/index.js';

const wantsGpu =
  process.env['VK_ICD_FILENAMES'] !== undefined || process.env['TESSERA_REQUIRE_WEBGPU'] === '1';

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
    ['times negative zero', (x) => x.mul(-0)],
    ['times zero, plus', (x) => x.mul(0).add(x)],
    ['times the logarithm of one', (x) => xlogy(x, 1)],
    ['times a half float of zero', (x) => x.to('float16').mul(0)],
  ])('what is no number, %s, is none', (_name, fn) =>
    expectReference(fn, tensor([0, 1.5, nan, inf, -inf, -2, nan])),
  );

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
});
