import { describe, expect, it } from 'vitest';
import { einsum, mm, noGrad, tensor, tidy, zeros } from '../src/index.js';

describe('tensor basics', () => {
  it('computes, broadcasts and prints', () => {
    const x = tensor([
      [1, 2],
      [3, 4],
    ]);
    expect(
      x
        .add(1)
        .mul(tensor([1, 10]))
        .toArray(),
    ).toEqual([
      [2, 30],
      [4, 50],
    ]);
    expect(String(x)).toBe('tensor([[1., 2.],\n        [3., 4.]])');
  });

  it('differentiates through views and in-place ops', () => {
    const x = tensor(
      [
        [1, 2],
        [3, 4],
      ],
      { requiresGrad: true },
    );
    const y = x.mul(2);
    const v = y.view([4]);
    v.mul_(3);
    y.sum().backward();
    expect(x.grad!.toArray()).toEqual([
      [6, 6],
      [6, 6],
    ]);
  });

  it('accumulates gradients of a matrix product', () => {
    const a = tensor(
      [
        [1, 2],
        [3, 4],
      ],
      { requiresGrad: true },
    );
    const b = tensor(
      [
        [5, 6],
        [7, 8],
      ],
      { requiresGrad: true },
    );
    mm(a, b).sum().backward();
    expect(a.grad!.toArray()).toEqual([
      [11, 15],
      [11, 15],
    ]);
    expect(b.grad!.toArray()).toEqual([
      [4, 4],
      [6, 6],
    ]);
    noGrad(() => a.sub_(a.grad!, { alpha: 0.5 }));
    expect(a.toArray()).toEqual([
      [-4.5, -5.5],
      [-2.5, -3.5],
    ]);
  });

  it('releases what tidy does not return', () => {
    const { kept, dropped } = tidy(() => {
      const inner = zeros([3]);
      return { kept: inner.add(1), dropped: { shape: inner.shape } };
    });
    expect(kept.toArray()).toEqual([1, 1, 1]);
    expect(dropped.shape).toEqual([3]);
  });
});

describe('einsum', () => {
  it('takes its tensors one by one or in an array', () => {
    const [a, b] = [tensor([[1, 2]]), tensor([[3], [4]])];
    expect(einsum('ij,jk->ik', a, b).toArray()).toEqual([[11]]);
    expect(einsum('ij,jk->ik', [a, b]).toArray()).toEqual([[11]]);
  });
});
