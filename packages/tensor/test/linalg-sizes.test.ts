/**
 * @file Factorizations of matrices larger than what their kernels take at once, and of matrices with zeros, equal and far
 * apart values where algorithms divide.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, eye, fromTypedArray, matmul, zeros } from '../src/index.js';
import { readNumbers } from '../src/internal.js';
import * as linalg from '../src/linalg.js';

/** Repeatable values between -1 and 1. */
function waves(...sizes: number[]): Tensor {
  const numel = sizes.reduce((a, b) => a * b, 1);
  return fromTypedArray(
    Float64Array.from({ length: numel }, (_, i) => Math.sin(1 + i * i * 12.9898)),
    sizes,
  );
}

function distance(a: Tensor, b: Tensor): number {
  return a.sub(b).abs().max().item();
}

function one(n: number): Tensor {
  return eye(n, null, { dtype: 'float64' });
}

/** A matrix of a function of row and column. */
function matrixOf(m: number, n: number, fn: (i: number, j: number) => number): Tensor {
  return fromTypedArray(
    Float64Array.from({ length: m * n }, (_, at) => fn(Math.floor(at / n), at % n)),
    [m, n],
  );
}

const shapes = [
  [70, 70],
  [101, 37],
  [37, 101],
  [2, 33, 33],
] as const;

describe.each(shapes.map((shape) => [shape]))('of %j', (shape) => {
  const x = waves(...shape);
  const square = shape.at(-1) === shape.at(-2);

  it('p l u, q r and u s vᵀ are the matrix again', () => {
    const [p, l, u] = linalg.lu(x);
    expect(distance(matmul(p, matmul(l, u)), x)).toBeLessThan(1e-12);
    for (const mode of ['reduced', 'complete'] as const) {
      const [q, r] = linalg.qr(x, { mode });
      expect(distance(matmul(q, r), x)).toBeLessThan(1e-13);
      expect(distance(matmul(q.mT, q), one(q.size(-1)).expand(matmul(q.mT, q).shape))).toBeLessThan(
        1e-13,
      );
      expect(distance(r, linalg.qr(x, { mode }).at(1)!.triu())).toBe(0);
    }
    const [left, s, right] = linalg.svd(x, { fullMatrices: false });
    expect(distance(matmul(left.mul(s.unsqueeze(-2)), right), x)).toBeLessThan(1e-12);
    expect(distance(linalg.svdvals(x), s)).toBeLessThan(1e-12);
  });

  it.runIf(square)('solutions, inverses, eigenvectors and Cholesky factors fit', () => {
    const n = shape.at(-1)!;
    const b = waves(...shape.slice(0, -1), 3);
    expect(distance(matmul(x, linalg.solve(x, b)), b)).toBeLessThan(1e-11);
    expect(distance(matmul(x, linalg.inv(x)), one(n).expand([...shape]))).toBeLessThan(1e-10);
    const symmetric = x.add(x.mT);
    const [values, vectors] = linalg.eigh(symmetric);
    expect(distance(matmul(vectors.mul(values.unsqueeze(-2)), vectors.mT), symmetric)).toBeLessThan(
      1e-12,
    );
    expect(distance(linalg.eigvalsh(symmetric), values)).toBeLessThan(1e-12);
    const positive = matmul(x, x.mT).add(one(n));
    const lower = linalg.cholesky(positive);
    expect(distance(matmul(lower, lower.mT), positive)).toBeLessThan(1e-12);
    expect(distance(linalg.cholesky(positive, { upper: true }), lower.mT)).toBeLessThan(1e-12);
  });
});

describe('singular values and vectors', () => {
  it.each<[name: string, x: Tensor]>([
    ['of zeros', zeros([4, 6], { dtype: 'float64' })],
    ['of one value', one(7)],
    ['of rank 1', matmul(waves(9, 1), waves(1, 5))],
    [
      'with a zero in the middle of the diagonal',
      matrixOf(6, 6, (i, j) => (j === i + 1 ? 1 : j === i && i !== 2 ? 2 : 0)),
    ],
    [
      'with a zero at its end',
      matrixOf(6, 6, (i, j) => (j === i + 1 ? 1 : j === i && i !== 5 ? 2 : 0)),
    ],
    ['far apart', matrixOf(8, 5, (i, j) => Math.sin(1 + 3 * i + 7 * j * j) * 10 ** (-4 * j))],
    ['near the largest number', waves(5, 4).mul(1e300)],
    ['below the least normal number', waves(5, 4).mul(1e-305)],
  ])('%s', (_name, x) => {
    const [u, s, vh] = linalg.svd(x, { fullMatrices: true });
    expect(distance(matmul(u.mT, u), one(u.size(-1)))).toBeLessThan(1e-14);
    expect(distance(matmul(vh, vh.mT), one(vh.size(-1)))).toBeLessThan(1e-14);
    const scale = Math.max(x.abs().max().item(), Number.MIN_VALUE);
    const k = s.size(0);
    const made = matmul(u.narrow(-1, 0, k).mul(s.div(scale)), vh.narrow(0, 0, k));
    expect(distance(made, x.div(scale))).toBeLessThan(1e-13);
    const row = [...readNumbers(s)];
    expect(row).toEqual([...row].sort((a, b) => b - a));
  });
});
