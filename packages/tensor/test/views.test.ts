import { describe, expect, it } from 'vitest';
import {
  type Tensor,
  arange,
  asStrided,
  clone,
  noGrad,
  ones,
  tensor,
  zeros,
} from '../src/index.js';
import { detach } from '../src/internal.js';

const grid = (): Tensor =>
  tensor([
    [0, 1, 2],
    [3, 4, 5],
  ]);

describe('views', () => {
  it('share memory and the version counter with their base', () => {
    const base = grid();
    const row = base.select(0, 1);
    const cell = row.narrow(0, 2, 1);
    expect(cell.base).toBe(base);
    expect(cell.storage).toBe(base.storage);
    cell.fill_(50);
    expect(base.toArray()).toEqual([
      [0, 1, 2],
      [3, 4, 50],
    ]);
    expect(base.storage.version).toBe(1);
  });

  it('follow Python in slicing: negative and overlong bounds, steps', () => {
    const x = arange(10);
    expect(x.slice(0, -3).toArray()).toEqual([7, 8, 9]);
    expect(x.slice(0, 2, 9223372036854775807, 4).toArray()).toEqual([2, 6]);
    expect(x.slice(0, 5, 2).toArray()).toEqual([]);
    expect(x.slice(0, -100, 2).toArray()).toEqual([0, 1]);
  });

  it('view where possible, copy where they must', () => {
    const x = grid();
    expect(x.permute([1, 0]).reshape([6]).storage).not.toBe(x.storage);
    expect(x.reshape([3, 2]).storage).toBe(x.storage);
    expect(x.flatten().storage).toBe(x.storage);
    expect(x.contiguous()).toBe(x);
    expect(() => x.permute([1, 0]).view([6])).toThrow(/Use reshape\(\)/);
  });

  it('expand without memory, and refuse to be written to', () => {
    const x = ones([1, 3]);
    const wide = x.expand([4, 3]);
    expect(wide.storage).toBe(x.storage);
    expect(wide.strides).toEqual([0, 1]);
    expect(() => wide.add_(1)).toThrow(
      /more than one element of the written-to tensor refers to a single memory location/,
    );
  });

  it('split into parts that cover the dimension', () => {
    const x = arange(7);
    expect(x.split(3).map((part) => part.toArray())).toEqual([[0, 1, 2], [3, 4, 5], [6]]);
    expect(x.split([2, 5]).map((part) => part.shape[0])).toEqual([2, 5]);
    expect(x.chunk(3).map((part) => part.shape[0])).toEqual([3, 3, 1]);
    expect(
      grid()
        .unbind(1)
        .map((part) => part.toArray()),
    ).toEqual([
      [0, 3],
      [1, 4],
      [2, 5],
    ]);
    expect(() => x.split([2, 4])).toThrow(/sum exactly to 7/);
  });

  it('reorder and insert dimensions', () => {
    const x = zeros([2, 3, 4]);
    expect(x.movedim(0, 2).shape).toEqual([3, 4, 2]);
    expect(x.transpose(0, -1).shape).toEqual([4, 3, 2]);
    expect(x.unsqueeze(-1).squeeze().shape).toEqual([2, 3, 4]);
    expect(x.unflatten(2, [2, -1]).shape).toEqual([2, 3, 2, 2]);
    expect(x.diagonal(1, 1, 2).shape).toEqual([2, 3]);
    expect(() => x.t()).toThrow(/expects a tensor with <= 2 dimensions/);
    expect(() => x.permute([0, 0, 1])).toThrow(/invalid-dim/);
  });

  it('address raw memory with asStrided, inside its bounds', () => {
    const x = arange(6).to('float32');
    expect(asStrided(x, [2, 2], [1, 2], 1).toArray()).toEqual([
      [1, 3],
      [2, 4],
    ]);
    expect(() => asStrided(x, [4], [2])).toThrow(/out of bounds for storage/);
  });

  it('name what is out of range', () => {
    expect(() => grid().select(1, 3)).toThrow(
      /index 3 out of range for tensor of size \[2, 3\] at dimension 1/,
    );
    expect(() => grid().narrow(1, 2, 2)).toThrow(
      /start \(2\) \+ length \(2\) exceeds dimension size \(3\)/,
    );
    expect(() => grid().select(2, 0)).toThrow(/Dimension out of range/);
  });
});

describe('in-place operators on views, differentiated', () => {
  it('send the gradient through the modified region only', () => {
    const x = ones([2, 3], { requiresGrad: true });
    const y = x.mul(2);
    y.select(0, 0).mul_(5);
    y.sum().backward();
    expect(x.grad!.toArray()).toEqual([
      [10, 10, 10],
      [2, 2, 2],
    ]);
  });

  it('see a write to the base through a view made before', () => {
    const x = ones([4], { requiresGrad: true });
    const y = x.mul(1);
    const v = y.narrow(0, 1, 2);
    y.mul_(3);
    v.sum().backward();
    expect(x.grad!.toArray()).toEqual([0, 3, 3, 0]);
  });

  it('chain several writes through overlapping views', () => {
    const x = ones([4], { requiresGrad: true });
    const y = x.mul(1);
    y.narrow(0, 0, 3).mul_(2);
    y.narrow(0, 1, 3).mul_(10);
    y.slice(0, 0, null, 2).add_(1);
    expect(detach(y).toArray()).toEqual([3, 20, 21, 10]);
    y.sum().backward();
    expect(x.grad!.toArray()).toEqual([2, 20, 20, 10]);
  });

  it('give the written value its gradient', () => {
    const x = zeros([2, 2]);
    const v = tensor([1, 2], { requiresGrad: true });
    x.select(1, 0).copy_(v);
    x.mul(tensor([[3], [4]]))
      .sum()
      .backward();
    expect(v.grad!.toArray()).toEqual([3, 4]);
  });

  it('add up gradients of elements that an older view shows several times', () => {
    const x = ones([3, 1]).requiresGrad_();
    const base = x.mul(1);
    const wide = base.expand([3, 2]);
    const windows = asStrided(base, [2, 2], [1, 1], 0);
    base.add_(1);
    wide.sum().add(windows.sum()).backward();
    expect(x.grad!.toArray()).toEqual([[3], [4], [3]]);
  });

  it('keep a transposed base intact', () => {
    const x = ones([2, 3], { requiresGrad: true });
    const y = clone(x.permute([1, 0]).contiguous().permute([1, 0]));
    y.permute([1, 0]).select(0, 2).zero_();
    y.sum().backward();
    expect(x.grad!.toArray()).toEqual([
      [1, 1, 0],
      [1, 1, 0],
    ]);
  });

  it('refuse to touch a leaf that requires grad, or a view of one', () => {
    const x = ones([3], { requiresGrad: true });
    expect(() => x.add_(1)).toThrow(
      /a leaf Variable that requires grad is being used in an in-place operation/,
    );
    expect(() => x.view([3, 1]).add_(1)).toThrow(/a view of a leaf Variable/);
    // It does not matter whether the leaf itself takes gradients.
    const view = ones([6]).view([2, 3]).requiresGrad_();
    expect(() => view.add_(1)).toThrow(/a view of a leaf Variable/);
    expect(() => view.reshape([6]).add_(1)).toThrow(/a view of a leaf Variable/);
    noGrad(() => x.add_(1));
    expect(detach(x).toArray()).toEqual([2, 2, 2]);
  });
});
