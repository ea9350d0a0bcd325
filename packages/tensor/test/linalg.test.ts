import { describe, expect, it } from 'vitest';
import { type Tensor, eye, fromTypedArray, matmul, stack, tensor, zeros } from '../src/index.js';
import { readNumbers } from '../src/internal.js';
import * as linalg from '../src/linalg.js';

/** Repeatable values between -1 and 1. */
function waves(...sizes: number[]): Tensor {
  const numel = sizes.reduce((a, b) => a * b, 1);
  return fromTypedArray(
    Float64Array.from({ length: numel }, (_, i) => Math.sin(i * 12.9898)),
    sizes,
  );
}

function distance(a: Tensor, b: Tensor): number {
  return Math.max(0, ...readNumbers(a.sub(b)).map(Math.abs));
}

const double = { dtype: 'float64' } as const;

describe('linear algebra', () => {
  it.each([[[4, 3]], [[3, 4]], [[2, 3, 3]], [[0, 3]], [[90, 7]], [[2, 3, 11]]])(
    'singular values and vectors of %j give the matrix again',
    (sizes) => {
      const x = waves(...sizes);
      const [u, s, vh] = linalg.svd(x, { fullMatrices: false });
      expect(distance(matmul(u.mul(s.unsqueeze(-2)), vh), x)).toBeLessThan(1e-13);
      const k = s.size(-1);
      expect(distance(matmul(u.mT, u), eye(k, null, double))).toBeLessThan(1e-13);
      const row = [...readNumbers(s)].slice(0, k);
      expect(row).toEqual([...row].sort((a, b) => b - a));
    },
  );

  it('singular vectors are orthonormal for singular matrices too', () => {
    const x = matmul(waves(4, 1), waves(1, 3));
    const [u, s, vh] = linalg.svd(x);
    expect([u.shape, vh.shape]).toEqual([
      [4, 4],
      [3, 3],
    ]);
    expect(distance(matmul(u.mT, u), eye(4, null, double))).toBeLessThan(1e-13);
    expect(s.slice(0, 1).toArray()).toEqual([expect.closeTo(0, 12), expect.closeTo(0, 12)]);
  });

  it('so are those of many more rows than columns, also if columns depend on each other', () => {
    for (const x of [waves(40, 3), matmul(waves(40, 2), waves(2, 3)), zeros([40, 3], double)])
      for (const matrix of [x, x.mT]) {
        const [u, s, vh] = linalg.svd(matrix);
        expect([...u.shape, ...vh.shape].sort((a, b) => a - b)).toEqual([3, 3, 40, 40]);
        for (const square of [u, vh]) {
          const one = eye(square.size(0), null, double);
          expect(distance(matmul(square.mT, square), one)).toBeLessThan(1e-13);
        }
        const whole = matmul(u.narrow(1, 0, 3).mul(s), vh.narrow(0, 0, 3));
        expect(distance(whole, matrix)).toBeLessThan(1e-12);
        expect(distance(linalg.svdvals(matrix), s)).toBeLessThan(1e-12);
      }
  });

  it("q is orthonormal and r triangular, with LAPACK's signs", () => {
    const x = waves(4, 3);
    const [q, r] = linalg.qr(x);
    expect(distance(matmul(q, r), x)).toBeLessThan(1e-14);
    expect(distance(r, r.triu())).toBe(0);
    expect(linalg.qr(tensor([[3], [4]]))[1].item()).toBeCloseTo(-5, 6);
    expect(() => linalg.qr(x, { mode: 'all' as never })).toThrow("unrecognized mode 'all'");
    expect(() => linalg.qr(tensor([1, 2]))).toThrow('at least 2 dimensions');
  });

  it('the exponential turns sums of commuting matrices into products', () => {
    const x = waves(3, 3).mul(3);
    const twice = linalg.matrixExp(x.mul(2));
    const once = linalg.matrixExp(x);
    expect(distance(matmul(once, once), twice) / twice.abs().max().item()).toBeLessThan(1e-13);
    expect(
      linalg
        .matrixExp(
          tensor([
            [0, 1],
            [0, 0],
          ]).to('float32'),
        )
        .toArray(),
    ).toEqual([
      [1, 1],
      [0, 1],
    ]);
    expect(() => linalg.matrixExp(zeros([2, 3]))).toThrow('square');
  });

  it('the exponential of an infinite matrix is NaN, beside that of a finite one', () => {
    const pair = tensor([
      [
        [-Infinity, 0],
        [0, 1],
      ],
      [
        [0, 1],
        [0, 0],
      ],
    ]);
    expect(linalg.matrixExp(pair).flatten().toArray()).toEqual([NaN, NaN, NaN, NaN, 1, 1, 0, 1]);
  });

  it('the pseudo-inverse fulfils the Moore–Penrose conditions; small singular values count as 0', () => {
    const x = waves(4, 3).add(eye(4, 3, double));
    const p = linalg.pinv(x);
    expect(distance(matmul(matmul(x, p), x), x)).toBeLessThan(1e-13);
    expect(distance(matmul(p, x), matmul(p, x).mT)).toBeLessThan(1e-13);
    const scaled = tensor([
      [2, 0],
      [0, 1e-9],
    ]);
    expect(linalg.pinverse(scaled, { rcond: 1e-6 }).toArray()).toEqual([
      [0.5, 0],
      [0, 0],
    ]);
  });

  it('limits of a pseudo-inverse are numbers, or tensors with one for each matrix', () => {
    const x = tensor([
      [4, 0],
      [0, 1],
    ]);
    const [low, high] = [tensor([0.1, 0.5]), tensor([0.5, 2])];
    const pairs = stack([x, x]);
    const kept = [
      [0.25, 0],
      [0, 0],
    ];
    for (const options of [{ rtol: 0.5 }, { atol: 2 }, { atol: 2, rtol: 0.1, hermitian: true }])
      expect(linalg.pinv(x, options).toArray()).toEqual(kept);
    for (const options of [{ rtol: low }, { atol: high }, { atol: high, rtol: 0 }])
      expect(linalg.pinv(pairs, options).select(0, 1).toArray()).toEqual(kept);
    expect(linalg.pinv(x, { rtol: 0.1 }).toArray()).toEqual([
      [0.25, 0],
      [0, 1],
    ]);
  });
});
