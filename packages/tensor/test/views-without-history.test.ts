import { describe, expect, it } from 'vitest';
import { noGrad, tensor } from '../src/index.js';

describe('a view that was made without gradients of what has a history', () => {
  it('is refused by in-place operators that would have to be recorded, and by no others', () => {
    const leaf = tensor([1, 2]).requiresGrad_();
    const base = leaf.mul(1);
    const view = noGrad(() => base.view([2, 1]));
    expect(() => view.mul_(2)).toThrow('A view was created in no_grad mode and is being modified');
    noGrad(() => view.mul_(2));
    expect(base.toArray()).toEqual([2, 4]);
    base.mul_(3);
    base.sum().backward();
    expect(leaf.grad!.toArray()).toEqual([3, 3]);
  });
});
