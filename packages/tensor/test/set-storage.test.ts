import { describe, expect, it } from 'vitest';
import { noGrad, ones, tensor } from '../src/index.js';
import { withFakeTensors } from '../src/internal.js';

describe('set_', () => {
  it('makes a tensor show the memory of another', () => {
    const x = ones([2]);
    const source = tensor([
      [1, 2, 3],
      [4, 5, 6],
    ]).permute([1, 0]);
    expect(x.set_(source)).toBe(x);
    expect([x.sizes, x.strides, x.storage === source.storage]).toEqual([[3, 2], [1, 3], true]);
    x.add_(1);
    expect(source.toArray()).toEqual([
      [2, 5],
      [3, 6],
      [4, 7],
    ]);
  });

  it.each([
    ['a leaf that requires grad', () => ones([2]).requiresGrad_(), 'inplace-leaf'],
    ['a tensor with history', () => ones([2]).requiresGrad_().mul(2), 'aot-unsupported'],
    ['another dtype', () => ones([2], { dtype: 'int64' }), 'dtype-mismatch'],
    ['a FakeTensor', () => withFakeTensors(() => ones([2])), 'aot-unsupported'],
  ])('refuses %s', (_, make, code) => {
    expect(() => make().set_(ones([2]))).toThrow(expect.objectContaining({ code }));
  });

  it('replaces a leaf under noGrad only if it requires no grad', () => {
    expect(() =>
      noGrad(() =>
        ones([2])
          .requiresGrad_()
          .set_(ones([2])),
      ),
    ).toThrow('not differentiable');
  });
});
