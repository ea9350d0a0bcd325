/**
 * @file Batches of nothing through modules that normalise: as PyTorch 2.13 has them.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, tensor, zeros } from '@tessera/tensor';
import { BatchNorm1d, LocalResponseNorm } from '../src/index.js';
import { compileForTest } from './compile-for-test.js';

describe.each([
  ['eager', false],
  ['compiled', true],
] as const)('an empty batch, %s', (_, compiled) => {
  const through = (fn: (x: Tensor) => Tensor): ((x: Tensor) => Tensor) =>
    compiled ? compileForTest(fn).call : fn;

  it.each([0.1, null])('leaves the statistics of BatchNorm with momentum %s', (momentum) => {
    const norm = new BatchNorm1d(2, { momentum });
    norm.running_mean!.copy_(tensor([0.5, -1]));
    norm.running_var!.copy_(tensor([2, 3]));
    const x = zeros([0, 2]).requiresGrad_();
    const y = through((input) => norm.call(input))(x);
    y.sum().backward();
    expect(y.sizes).toEqual([0, 2]);
    expect(norm.running_mean!.toArray()).toEqual([0.5, -1]);
    expect(norm.running_var!.toArray()).toEqual([2, 3]);
    expect(norm.num_batches_tracked!.item()).toBe(1);
    // Zeros, not null: an optimizer updates them as in any other step.
    expect(norm.weight!.grad!.toArray()).toEqual([0, 0]);
    expect(norm.bias!.grad!.toArray()).toEqual([0, 0]);
    expect(x.grad!.sizes).toEqual([0, 2]);
  });

  it('passes LocalResponseNorm', () => {
    const norm = new LocalResponseNorm(3);
    const x = zeros([0, 5, 7]).requiresGrad_();
    const y = through((input) => norm.call(input))(x);
    y.sum().backward();
    expect(y.sizes).toEqual([0, 5, 7]);
    expect(x.grad!.sizes).toEqual([0, 5, 7]);
  });
});
