/**
 * @file `config.inductor.implicitFallbacks`: whether operators without a lowering run on their reference kernels.
 */
import { type Tensor, emptyLike, library, ones, randn, sort } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, config, observeCompilations } from '../src/index.js';

const OFF = { options: { inductor: { implicitFallbacks: false } } };

const twice = library('implicit_fallbacks')
  .define('twice(Tensor self) -> Tensor')
  .impl('twice', 'cpu', (x: Tensor) => x.mul(2))
  .impl('twice', 'meta', (x: Tensor) => emptyLike(x))
  .fn<(x: Tensor) => Tensor>('twice');

describe('inductor.implicitFallbacks', () => {
  const run = (x: Tensor): Tensor => twice(x.add(1)).mul(3);

  it('off, an operator without a lowering is an error that names it', () => {
    expect(() => compile(run, OFF)(ones([3]))).toThrow(
      expect.objectContaining({
        code: 'kernel-missing',
        message: expect.stringMatching(
          /implicit_fallbacks::twice has no lowering.*implicitFallbacks/,
        ),
        hints: [
          expect.stringContaining("registerLowering('implicit_fallbacks::twice'"),
          expect.any(String),
        ],
      }),
    );
  });

  it('is on by default, and the option of one function is that of no other', () => {
    expect(config.get('inductor.implicitFallbacks')).toBe(true);
    expect(compile(run)(ones([3])).toArray()).toEqual([12, 12, 12]);
    expect(() => compile(run, OFF)(ones([3]))).toThrow(/implicitFallbacks/);
    expect(compile(run)(ones([3])).toArray()).toEqual([12, 12, 12]);
  });

  it('off, operators whose lowering declines large inputs still run on their reference kernels', () => {
    const x = randn([5000]);
    const order = (y: Tensor): Tensor => sort(y.add(1))[0];
    const { kernels, call } = kernelsOf(order);
    expect(call(x).toArray()).toEqual(order(x).toArray());
    expect(kernels()).toContain('extern');
  });

  it('off, eager operators are what they were', () => {
    config.patch({ 'inductor.implicitFallbacks': false }, () =>
      expect(twice(ones([3])).toArray()).toEqual([2, 2, 2]),
    );
  });
});

function kernelsOf(fn: (x: Tensor) => Tensor): {
  readonly kernels: () => string[];
  readonly call: (x: Tensor) => Tensor;
} {
  const kinds: string[] = [];
  const call = compile(fn, OFF);
  return {
    kernels: () => kinds,
    call: (x) => {
      const stop = observeCompilations((_, { plan }) => {
        kinds.push(...plan.kernels.map(({ kind }) => kind));
      });
      try {
        return call(x);
      } finally {
        stop();
      }
    },
  };
}
