/**
 * @file The backward operators of the norms, differentiated: against finite differences of the norm's own gradient.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, callOp, getOp, randn, manualSeed } from '../src/index.js';
import { gradientError, type Differentiable } from './support/gradient-check.js';

const call = (name: string, args: unknown[]): Tensor[] => callOp(getOp(name), args) as Tensor[];
const ALL = [true, true, true];

const layerNorm: Differentiable = (g, x, w) => {
  const [, mean, rstd] = call('aten::native_layer_norm', [x, [3], w, null, 1e-5]);
  return call('aten::native_layer_norm_backward', [g, x, [3], mean, rstd, w, w, ALL]);
};
const batchNorm: Differentiable = (g, x, w) => {
  const [, mean, invstd] = call('aten::_native_batch_norm_legit.no_stats', [
    x,
    w,
    null,
    true,
    0.1,
    1e-5,
  ]);
  return call('aten::native_batch_norm_backward', [
    ...[g, x, w, null, null, mean, invstd],
    ...[true, 1e-5, ALL],
  ]);
};
const groupNorm: Differentiable = (g, x, w) => {
  const stats = call('aten::native_group_norm', [x, w, null, 2, 4, 3, 2, 1e-5]);
  const [mean, rstd] = stats.slice(1).map((stat) => stat.detach());
  return call('aten::native_group_norm_backward', [g, x, mean, rstd, w, 2, 4, 3, 2, ALL]);
};

manualSeed(3);
const f64 = { dtype: 'float64' } as const;
const cases: [string, Differentiable, Tensor[]][] = [
  ['layer norm', layerNorm, [randn([2, 3], f64), randn([2, 3], f64), randn([3], f64)]],
  ['batch norm', batchNorm, [randn([4, 2], f64), randn([4, 2], f64), randn([2], f64)]],
  ['group norm', groupNorm, [randn([2, 4, 3], f64), randn([2, 4, 3], f64), randn([4], f64)]],
];

describe('backward operators of norms', () => {
  it.each(cases)('%s: have derivatives', (_name, fn, inputs) => {
    expect(gradientError(fn, inputs)).toBeLessThan(1e-6);
  });

  it('keep gradients of part of their outputs apart', () => {
    const [g, x, w] = [randn([2, 3]), randn([2, 3], { requiresGrad: true }), randn([3])];
    const [, forWeight] = layerNorm(g!, x!, w!) as Tensor[];
    forWeight!.sum().backward();
    expect(x!.grad!.sizes).toEqual([2, 3]);
  });

  it('leave saved statistics without history, as PyTorch', () => {
    const x = randn([2, 3], { requiresGrad: true });
    const [out, mean, rstd] = call('aten::native_layer_norm', [x, [3], null, null, 1e-5]);
    expect([out, mean, rstd].map((tensor) => tensor!.requiresGrad)).toEqual([true, false, false]);
  });
});
