import { describe, expect, it } from 'vitest';
import { type Tensor, addmm, linear, mm, ones, tensor } from '../src/index.js';

const grad = (x: Tensor): Tensor => x.grad!;

describe('gradients of matrix products', () => {
  it('are laid out as their matrices: that of a weight used transposed is contiguous', () => {
    const weight = tensor(
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
      { requiresGrad: true },
    );
    linear(tensor([[1, 0, 2]]), weight, ones([2]))
      .mul(tensor([[1, 10]]))
      .sum()
      .backward();
    expect(grad(weight).strides).toEqual([3, 1]);
    expect(grad(weight).toArray()).toEqual([
      [1, 0, 2],
      [10, 0, 20],
    ]);
  });

  it.each([
    ['mm', (a: Tensor, b: Tensor) => mm(a, b)],
    ['addmm', (a: Tensor, b: Tensor) => addmm(ones([2]), a, b, { alpha: 1 })],
  ])('of %s have the same values in either layout', (_, product) => {
    const a = [
      [1, 2, 3],
      [4, 5, 6],
    ];
    const b = [
      [1, 0],
      [2, 1],
      [0, 3],
    ];
    const columns = (rows: number[][]): number[][] =>
      rows[0]!.map((__, j) => rows.map((row) => row[j]!));
    const seed = tensor([
      [1, 2],
      [3, 4],
    ]);
    const plain = [tensor(a, { requiresGrad: true }), tensor(b, { requiresGrad: true })] as const;
    product(plain[0], plain[1]).backward(seed);
    const flipped = [
      tensor(columns(a), { requiresGrad: true }),
      tensor(columns(b), { requiresGrad: true }),
    ] as const;
    product(flipped[0].t(), flipped[1].t()).backward(seed);
    flipped.forEach((x, i) => {
      expect(grad(x).isContiguous()).toBe(true);
      expect(grad(x).t().toArray()).toEqual(grad(plain[i]!).toArray());
    });
  });
});
