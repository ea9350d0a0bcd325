/**
 * @file Functions of the smaller entries of `@tessera/tensor`, compiled: what they give without a compiler.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { type Tensor, arange, download, tensor } from '@tessera/tensor';
import { hfft2, ihfft2 } from '@tessera/tensor/fft';
import { geqrf, ormqr } from '@tessera/tensor/linalg';
import { histogramdd, unravelIndex } from '@tessera/tensor/more';
import * as windows from '@tessera/tensor/signal';
import { compile, initWebGpu } from '../src/index.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

type Fn = (x: Tensor) => Tensor | readonly Tensor[];
const x = arange(24, { dtype: 'float32' }).sin().reshape([3, 4, 2]);
const [h, tau] = geqrf(
  tensor([
    [1, 2],
    [3, 4],
    [5, 7],
  ]),
);

const EVERYWHERE: readonly [name: string, fn: Fn][] = [
  [
    'windows',
    ({ device }) => [
      windows.hann(9, { device }),
      windows.kaiser(9, { device, sym: false }),
      windows.exponential(4, { device }),
    ],
  ],
  ['hfft2', (y) => hfft2(y)],
  ['ihfft2', (y) => ihfft2(y.select(-1, 0))],
  ['unravelIndex', (y) => unravelIndex(y.mul(12).abs().to('int64'), [3, 4])],
  ['ormqr', (y) => ormqr(h.to(y.device), tau.to(y.device), y.select(-1, 1), { transpose: true })],
];

async function expectSame(fn: Fn, input: Tensor): Promise<void> {
  const wanted = [fn(x)].flat();
  for (const [i, got] of [compile(fn, { fullgraph: true })(input)].flat().entries()) {
    expect([got.dtype, got.sizes]).toEqual([wanted[i]!.dtype, wanted[i]!.sizes]);
    expect((await download(got)).allclose(wanted[i]!, { rtol: 1e-4, atol: 1e-5 })).toBe(true);
  }
}

describe('on the CPU', () => {
  it.each(EVERYWHERE)('%s', (_name, fn) => expectSame(fn, x));

  it('histogramdd', () =>
    expectSame((y) => {
      const [counts, edges] = histogramdd(y, [2, 3], { density: true });
      return [counts, ...edges, histogramdd(y, edges)[0]];
    }, x));
});

describe.runIf(wantsGpu)('on WebGPU', () => {
  beforeAll(async () => {
    await initWebGpu();
  });

  it.each(EVERYWHERE)('%s', (_name, fn) => expectSame(fn, x.to('wgpu')));
});
