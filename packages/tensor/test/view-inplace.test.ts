import { describe, expect, it } from 'vitest';
import { type Tensor, arange, noGrad, ones, tensor, zeros } from '../src/index.js';

const grid = (): Tensor =>
  tensor([
    [0, 1, 2],
    [3, 4, 5],
  ]);

describe('layouts changed in place', () => {
  it('keep the object and its memory, and count as a modification', () => {
    const x = grid();
    expect(x.t_()).toBe(x);
    expect([x.shape, x.strides, x.storage.version]).toEqual([[3, 2], [1, 3], 1]);
    expect(x.toArray()).toEqual([
      [0, 3],
      [1, 4],
      [2, 5],
    ]);
    x.unsqueeze_(0).transpose_(1, 2).squeeze_(0);
    expect(x.toArray()).toEqual(grid().toArray());
  });

  it('leave other views of the memory as they are', () => {
    const base = grid();
    const row = base.select(0, 0);
    base.t_();
    expect(row.toArray()).toEqual([0, 1, 2]);
    row.unsqueeze_(1);
    expect(base.shape).toEqual([3, 2]);
    row.fill_(9);
    expect(base.toArray()).toEqual([
      [9, 3],
      [9, 4],
      [9, 5],
    ]);
  });

  it('asStrided_ selects any elements of the memory', () => {
    const x = arange(6);
    expect(x.asStrided_([2, 2], [3, 1], 1).toArray()).toEqual([
      [1, 2],
      [4, 5],
    ]);
  });

  it('are differentiable, also where self is a view', () => {
    const leaf = grid().to('float32').requiresGrad_();
    const x = leaf.mul(2);
    const part = x.narrow(1, 0, 2);
    x.t_();
    part.t_();
    const scale = tensor([
      [1, 10],
      [2, 20],
      [3, 30],
    ]);
    x.mul(scale)
      .sum()
      .add(
        part
          .mul(
            tensor([
              [100, 200],
              [300, 400],
            ]),
          )
          .sum(),
      )
      .backward();
    expect(leaf.grad!.toArray()).toEqual([
      [202, 604, 6],
      [420, 840, 60],
    ]);
  });

  it('refuse leaves that require grad, and values that backward still needs', () => {
    const leaf = ones([2, 3]).requiresGrad_();
    expect(() => leaf.t_()).toThrow('leaf Variable that requires grad');
    noGrad(() => leaf.t_());
    expect(leaf.shape).toEqual([3, 2]);
    const x = leaf.mul(2);
    const y = x.mul(x);
    x.t_();
    expect(() => y.sum().backward()).toThrow('modified by an inplace operation');
  });

  it('detach_ drops the history, but not of views', () => {
    const leaf = ones([2]).requiresGrad_();
    const x = leaf.mul(3);
    const y = x.mul(leaf);
    expect(x.detach_().requiresGrad).toBe(false);
    y.sum().backward();
    expect(leaf.grad!.toArray()).toEqual([6, 6]);
    expect(() => zeros([2, 2]).select(0, 0).detach_()).toThrow("Can't detach views in-place");
  });
});

describe('ops made of others, in place', () => {
  it('compute into self and keep what their gradients need', () => {
    const leaf = tensor([
      [3, 4],
      [0.3, 0.4],
    ]).requiresGrad_();
    const x = leaf.mul(1);
    expect(x.renorm_(2, 0, 1)).toBe(x);
    const y = leaf.detach().requiresGrad_();
    x.mul(tensor([1, 2]))
      .sum()
      .backward();
    y.renorm(2, 0, 1)
      .mul(tensor([1, 2]))
      .sum()
      .backward();
    expect(leaf.grad!.toArray()).toEqual(y.grad!.toArray());
  });

  it('refuse a self of another shape or type; addbmm_ grows as in PyTorch', () => {
    expect(() => zeros([1]).addr_(ones([2]), ones([3]))).toThrow(
      "doesn't match the broadcast shape",
    );
    expect(() => zeros([2], { dtype: 'int64' }).addmv_(ones([2, 2]), ones([2]))).toThrow(
      'same dtype',
    );
    const x = zeros([1]);
    x.addbmm_(ones([2, 1, 2]), ones([2, 2, 3]));
    expect(x.toArray()).toEqual([[4, 4, 4]]);
  });
});
