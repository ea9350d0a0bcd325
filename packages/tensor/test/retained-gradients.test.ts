/**
 * @file `retainGrad()` and hooks of tensors that are modified in place afterwards, as in PyTorch.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, grad, ones } from '../src/index.js';

const inputs = (): [leaf: Tensor, x: Tensor] => {
  const leaf = ones([2, 2]).requiresGrad_();
  return [leaf, leaf.mul(1)];
};
const FULL = (value: number): number[][] => [
  [value, value],
  [value, value],
];

describe('retainGrad() before an in-place operation', () => {
  it('keeps the gradient of the tensor as it is afterwards', () => {
    const [leaf, x] = inputs();
    x.retainGrad();
    x.mul_(3);
    x.sum().backward();
    expect([x.grad!.toArray(), leaf.grad!.toArray()]).toEqual([FULL(1), FULL(3)]);
  });

  it('does so for a view that is modified', () => {
    const [leaf, x] = inputs();
    const view = x.t();
    view.retainGrad();
    view.mul_(3);
    view.sum().backward();
    expect([view.grad!.toArray(), leaf.grad!.toArray()]).toEqual([FULL(1), FULL(3)]);
  });

  it('does so for a view of a tensor that is modified', () => {
    const [, x] = inputs();
    const view = x.t();
    view.retainGrad();
    x.mul_(3);
    view.sum().backward();
    expect(view.grad!.toArray()).toEqual(FULL(1));
  });

  it('does so for a tensor of which a view is modified', () => {
    const [, x] = inputs();
    x.retainGrad();
    x.t().mul_(3);
    x.sum().backward();
    expect(x.grad!.toArray()).toEqual(FULL(1));
  });
});

describe('a hook before an in-place operation', () => {
  it('sees the gradient of the values as they were', () => {
    const [leaf, x] = inputs();
    const seen: unknown[] = [];
    x.registerHook((slope) => void seen.push(slope.toArray()));
    x.mul_(3);
    x.sum().backward();
    expect([seen, leaf.grad!.toArray()]).toEqual([[FULL(3)], FULL(3)]);
  });

  it('sees none on a view, whose gradient goes through its base from then on', () => {
    const [leaf, x] = inputs();
    const view = x.t();
    view.registerHook((slope) => slope.mul(0.5));
    view.mul_(3);
    view.sum().backward();
    expect(leaf.grad!.toArray()).toEqual(FULL(3));
  });
});

describe('a search for the gradient of a computed tensor', () => {
  it('goes no further: what the tensor was computed from keeps and sees none', () => {
    const [, x] = inputs();
    const seen: unknown[] = [];
    x.retainGrad();
    x.registerHook((slope) => void seen.push(slope));
    const y = x.abs();
    grad(y.sum(), [y], { retainGraph: true });
    y.sum().backward(null, { inputs: [y] });
    expect([x.grad, seen, y.grad!.toArray()]).toEqual([null, [], FULL(1)]);
  });

  it('does not see what else the tensors between were computed from', () => {
    const [, x] = inputs();
    const [, other] = inputs();
    const seen: unknown[] = [];
    other.retainGrad();
    other.registerHook((slope) => void seen.push(slope));
    grad(x.add(other).sum(), [x]);
    expect([other.grad, seen]).toEqual([null, []]);
  });

  it('goes on to what is wanted besides', () => {
    const [leaf, x] = inputs();
    const y = x.mul(3);
    const slopes = grad(y.sum(), [y, x, leaf]);
    expect(slopes.map((slope) => slope.toArray())).toEqual([FULL(1), FULL(3), FULL(3)]);
  });
});
