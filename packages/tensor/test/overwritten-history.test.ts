/**
 * @file Floats that are overwritten pass a gradient of zero to what they were, as in PyTorch.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, ones, tensor } from '../src/index.js';
import { readNumbers } from '../src/internal.js';

const overwrites: Readonly<Record<string, (t: Tensor) => Tensor>> = {
  copy_: (t) => t.copy_(ones([3])),
  fill_: (t) => t.fill_(2),
  zero_: (t) => t.zero_(),
  'eq_ with a number': (t) => t.eq_(1),
  'lt_ with a tensor': (t) => t.lt_(ones([3])),
  ge_: (t) => t.ge_(0.5),
};

describe.each(Object.entries(overwrites))('%s', (_, overwrite) => {
  it('gives what was there a gradient of zero, through nodes that run once', () => {
    const leaf = tensor([1, 2, 3]).requiresGrad_();
    const t = overwrite(leaf.sin());
    expect(t.requiresGrad).toBe(true);
    t.sum().backward();
    expect([...readNumbers(leaf.grad!)].map(Math.abs)).toEqual([0, 0, 0]);
    expect(() => t.mul(2).sum().backward()).toThrow(
      expect.objectContaining({ code: 'backward-twice' }),
    );
  });

  it('refuses a leaf', () => {
    const leaf = tensor([1, 2, 3]).requiresGrad_();
    expect(() => overwrite(leaf)).toThrow(expect.objectContaining({ code: 'inplace-leaf' }));
  });

  it('leaves the rest of a tensor its gradient', () => {
    const leaf = tensor([1, 2, 3, 4]).requiresGrad_();
    const t = leaf.mul(2);
    overwrite(t.narrow(0, 0, 3));
    t.sum().backward();
    expect([...readNumbers(leaf.grad!)].map(Math.abs)).toEqual([0, 0, 0, 2]);
  });
});

it('a comparison in place passes zero to what it compares with', () => {
  const [a, b] = [tensor([1, 2]), tensor([2]).requiresGrad_()];
  a.eq_(b).sum().backward();
  expect(b.grad!.toArray()).toEqual([0]);
});
