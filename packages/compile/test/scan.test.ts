/**
 * @file Compiled scans against the reference kernels: rows of one block, of several levels of blocks, ragged ones.
 */
import { type Tensor, cat, fromTypedArray, tensor, zeros } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, config } from '../src/index.js';

/** Repeatable values in [-1, 1], not all distinct. */
function waves(sizes: number[]): Tensor {
  const numel = sizes.reduce((a, b) => a * b, 1);
  return fromTypedArray(
    Float32Array.from({ length: numel }, (_, i) => Math.round(Math.sin(i * 12.9898) * 64) / 64),
    sizes,
  );
}

const scans: [name: string, fn: (x: Tensor, dim: number) => Tensor[]][] = [
  ['cumsum', (x, dim) => [x.cumsum(dim)]],
  ['cumsum of integers', (x, dim) => [x.mul(8).to('int64').cumsum(dim)]],
  ['cumprod', (x, dim) => [x.mul(0.01).add(1).cumprod(dim)]],
  ['cummax', (x, dim) => x.cummax(dim)],
  ['cummin', (x, dim) => x.neg().cummin(dim)],
];
const shapes: [sizes: number[], dim: number][] = [
  [[3, 50], 1],
  [[65, 3], 0],
  [[2, 1000, 2], 1],
  [[1031], 0],
  [[2, 2500], 1],
  [[20003], 0],
  [[3, 9001], 1],
];

function expectSame(actual: readonly Tensor[], expected: readonly Tensor[]): void {
  expected.forEach((tensor, i) => {
    expect(actual[i]!.shape).toEqual(tensor.shape);
    expect(actual[i]!.dtype).toBe(tensor.dtype);
    const e = Array.from(tensor.toTypedArray(), Number);
    Array.from(actual[i]!.toTypedArray(), Number).forEach((value, at) => {
      if (Number.isNaN(e[at]!)) expect(value).toBeNaN();
      else expect(Math.abs(value - e[at]!)).toBeLessThanOrEqual(1e-5 + 1e-5 * Math.abs(e[at]!));
    });
  });
}

describe('compiled scans', () => {
  it.each(scans)('%s', (_name, fn) => {
    for (const [sizes, dim] of shapes) {
      const x = waves(sizes);
      const eager = config.patch({ 'eager.kernels': 'reference' }, () => fn(x, dim));
      expectSame(compile((y: Tensor) => fn(y, dim))(x), eager);
    }
  });

  it('in one kernel with reductions of the same rows, and with writes to what they read', () => {
    const nucleus = (x: Tensor): Tensor => {
      const weights = x.softmax(-1);
      const reached = weights.cumsum(-1);
      return weights.mul(reached.lt(0.9)).div(reached.amax(-1, { keepdim: true }));
    };
    const x = waves([5, 133]);
    const eager = config.patch({ 'eager.kernels': 'reference' }, () => nucleus(x));
    expectSame([compile(nucleus)(x)], [eager]);
    const shift = (y: Tensor): Tensor => {
      const running = y.cumsum(0);
      y.add_(running);
      return running.sub(y);
    };
    const [mine, theirs] = [waves([40, 7]), waves([40, 7])];
    const left = config.patch({ 'eager.kernels': 'reference' }, () => shift(theirs));
    expectSame([compile(shift)(mine), mine], [left, theirs]);
  });

  it('NaN stays once met, from one block to the next', () => {
    const x = cat([zeros([70]), tensor([Number.NaN]), zeros([100]).add(3)]);
    const fn = (y: Tensor): Tensor[] => [...y.cummax(0), y.cumsum(0)];
    const eager = config.patch({ 'eager.kernels': 'reference' }, () => fn(x));
    expectSame(compile(fn)(x), eager);
  });

  it('gradients of running sums and products', () => {
    const x = waves([2, 130]).requiresGrad_();
    const loss = (y: Tensor): Tensor => y.cumsum(1).mul(y.add(1).cumprod(1)).sum();
    loss(x).backward();
    const expected = x.grad!;
    x.grad = null;
    compile(loss)(x).backward();
    expectSame([x.grad!], [expected]);
  });
});
