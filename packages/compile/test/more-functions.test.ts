/** @file Functions of `@tessera/tensor/more` in compiled functions: they give what they give outside. */
import { type Tensor, arange, manualSeed, ones, tensor, zeros } from '@tessera/tensor';
import { emptyStrided, newTensor, normal, random_, resize_, viewDtype } from '@tessera/tensor/more';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

function expectSame(fn: (x: Tensor) => Tensor, x: Tensor, fullgraph = true): void {
  const compiled = compile(fn, { fullgraph });
  for (let call = 0; call < 3; call++) {
    manualSeed(call);
    const expected = fn(x);
    manualSeed(call);
    const actual = compiled(x);
    expect([actual.dtype, actual.shape, actual.strides]).toEqual([
      expected.dtype,
      expected.shape,
      expected.strides,
    ]);
    expect(actual.to('float64').sub(expected.to('float64')).abs().max().item()).toBeLessThan(1e-5);
  }
}

describe('compiled', () => {
  it.each<[string, (x: Tensor) => Tensor]>([
    ['normal of means', (x) => normal(x, 0.5).mul(2)],
    ['normal of deviations', (x) => normal(1, x.abs())],
    ['normal of both', (x) => normal(x, x.abs().unsqueeze(1))],
    ['normal of numbers', (x) => normal(1, 2, [5]).add(x.sum())],
  ])('%s', (_name, fn) => expectSame(fn, tensor([1, -2, 3])));

  it('normal has gradients of zero', () => {
    const mean = ones([3], { requiresGrad: true });
    compile((x: Tensor) => normal(x, 1).mul(x).sum())(mean).backward();
    expect(mean.grad!.sub(normal(mean, 0)).shape).toEqual([3]);
  });

  it('random_ of whole numbers', () => {
    expectSame((x) => random_(x.clone(), 3, 100).add(1), zeros([64]));
    expectSame((x) => random_(x.clone()), zeros([64], { dtype: 'uint8' }));
    expectSame((x) => random_(x.clone()), zeros([64], { dtype: 'int64' }));
  });

  it('new tensors', () => {
    expectSame((x) => emptyStrided([2, 3], [1, 2]).copy_(x), ones([3]));
    expectSame((x) => newTensor(x, [1, 2, 3]).add(x), ones([3], { dtype: 'int32' }));
  });

  it('other sizes and dtypes over the same memory, at a graph break', () => {
    const floats = { dtype: 'float32' } as const;
    expectSame((x) => resize_(x.mul(2), [2, 2]).add(1), arange(6, floats), false);
    expectSame((x) => resize_(x.mul(2), [8]).narrow(0, 0, 6).add(1), arange(6, floats), false);
    expectSame((x) => viewDtype(x.mul(2), 'int32').add(1), tensor([1, 2]), false);
    const doubled = (x: Tensor): Tensor => {
      const y = x.mul(1);
      viewDtype(y, 'int32').add_(2 ** 23);
      return y.add(0);
    };
    expectSame(doubled, tensor([1, 2]), false);
    expect(compile(doubled)(tensor([1, 2])).toArray()).toEqual([2, 4]);
  });

  it('memory that arguments of two dtypes share', () => {
    const [x, y] = [tensor([1, 2]), tensor([1, 2])];
    const fn = (a: Tensor, bits: Tensor): Tensor => {
      const before = a.mul(3);
      bits.add_(2 ** 23);
      return before.add(a);
    };
    const compiled = compile(fn);
    for (let call = 0; call < 2; call++)
      expect(compiled(x, viewDtype(x, 'int32')).toArray()).toEqual(
        fn(y, viewDtype(y, 'int32')).toArray(),
      );
  });
});
