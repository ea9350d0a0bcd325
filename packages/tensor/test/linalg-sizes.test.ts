/**
 * @file Factorizations of matrices larger than what their kernels take at once, and of matrices with zeros, equal and far
 * apart values where algorithms divide.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, eye, fromTypedArray, matmul, stack, zeros } from '../src/index.js';
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

describe.each([15, 16, 17, 33, 47, 70])('in blocks: %i rows', (n) => {
  const x = waves(n, n);
  const positive = matmul(x, x.mT).add(one(n).mul(n));

  it('factors and eigenvectors make the matrix again', () => {
    for (const upper of [false, true]) {
      const f = linalg.cholesky(positive, { upper });
      const product = upper ? matmul(f.mT, f) : matmul(f, f.mT);
      expect(distance(product, positive)).toBeLessThan(1e-12 * n);
      expect(distance(f, upper ? f.triu() : f.tril())).toBe(0);
    }
    const [values, vectors] = linalg.eigh(positive);
    expect(distance(matmul(vectors.mul(values), vectors.mT), positive)).toBeLessThan(1e-12 * n);
    expect(distance(matmul(vectors.mT, vectors), one(n))).toBeLessThan(1e-13 * n);
    expect(distance(linalg.eigvalsh(positive), values)).toBeLessThan(1e-12 * n);
  });

  it('solutions of triangles, of matrices and of their transposes', () => {
    const b = waves(n, 19);
    for (const upper of [false, true])
      for (const unitriangular of [false, true]) {
        const kept = upper ? x.triu(1) : x.tril(-1);
        const a = kept.mul(0.1).add(one(n).mul(unitriangular ? 1 : 3));
        const solved = linalg.solveTriangular(a, b, { upper, unitriangular });
        expect(distance(matmul(a, solved), b)).toBeLessThan(1e-11);
        const left = linalg.solveTriangular(a, b.mT, { upper, left: false, unitriangular });
        expect(distance(matmul(left, a), b.mT)).toBeLessThan(1e-11);
      }
    expect(distance(matmul(positive, linalg.solve(positive, b)), b)).toBeLessThan(1e-11);
    const [lu, pivots] = linalg.luFactor(positive);
    const turned = linalg.luSolve(lu, pivots, b, { adjoint: true });
    expect(distance(matmul(positive.mT, turned), b)).toBeLessThan(1e-11);
    expect(distance(matmul(positive, linalg.inv(positive)), one(n))).toBeLessThan(1e-11);
  });

  it('a minor that is not positive is found, and what follows it is left as it was', () => {
    const at = n - 3;
    const spoilt = positive.add(matrixOf(n, n, (i, j) => (i === at && j === at ? -1e6 : 0)));
    const [f, info] = linalg.choleskyEx(spoilt);
    expect(info.item()).toBe(at + 1);
    const rest = (y: Tensor): Tensor =>
      y.narrow(0, at + 1, n - at - 1).narrow(1, at + 1, n - at - 1);
    expect(distance(rest(f), rest(spoilt).tril())).toBe(0);
  });

  it('columns of zeros, and a matrix of rank 2', () => {
    const gaps = x.mul(matrixOf(n, n, (_, j) => (j % 5 === 2 ? 0 : 1)));
    const low = matmul(x.narrow(1, 0, 2), x.narrow(1, 0, 2).mT);
    for (const y of [gaps, low, zeros([n, n], { dtype: 'float64' })]) {
      const [q, r] = linalg.qr(y);
      expect(distance(matmul(q, r), y)).toBeLessThan(1e-12);
      expect(distance(matmul(q.mT, q), one(n))).toBeLessThan(1e-12);
    }
    const [values, vectors] = linalg.eigh(low);
    expect(distance(matmul(vectors.mul(values), vectors.mT), low)).toBeLessThan(1e-12 * n);
    expect(distance(matmul(vectors.mT, vectors), one(n))).toBeLessThan(1e-12);
  });
});

describe('batches', () => {
  const each: Readonly<Record<string, (a: Tensor, b: Tensor) => Tensor>> = {
    inv: (a) => linalg.inv(a),
    det: (a) => linalg.det(a),
    slogdet: (a) => linalg.slogdet(a)[1],
    luFactor: (a) => linalg.luFactor(a)[0],
    pivots: (a) => linalg.luFactor(a)[1].to('float64'),
    'solve from the left': (a, b) => linalg.solve(a, b),
    'solve from the right': (a, b) => linalg.solve(a, b.mT, { left: false }),
    'solve matrices that lie column by column': (a, b) => linalg.solve(a.mT, b),
    solveTriangular: (a, b) => linalg.solveTriangular(a, b, { upper: true }),
  };
  it.each(Object.keys(each))('%s is that of one matrix after the other', (name) => {
    const of = each[name]!;
    for (const n of [3, 20]) {
      const [a, b] = [waves(4, n, n), waves(4, n, 2)];
      const alone = [...a.unbind(0)].map((matrix, i) => of(matrix, b.select(0, i)));
      expect(distance(of(a, b), stack(alone))).toBeLessThan(1e-12);
    }
  });

  it('of matrices without elements have a determinant each', () => {
    const none = zeros([2, 0, 0], { dtype: 'float64' });
    expect(linalg.det(none).toArray()).toEqual([1, 1]);
    expect(linalg.invEx(none)[1].toArray()).toEqual([0, 0]);
    expect(linalg.solve(none, zeros([2, 0, 3], { dtype: 'float64' })).sizes).toEqual([2, 0, 3]);
  });
});
