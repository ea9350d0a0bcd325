/**
 * @file First and second derivatives of linear algebra against finite differences, also where PyTorch's recorded
 * gradients say nothing: singular matrices, eigenvectors up to their signs.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, eye, fromTypedArray, matmul, tensor } from '../src/index.js';
import * as linalg from '../src/linalg.js';
import { gradientError, secondGradientError } from './support/gradient-check.js';

function waves(...sizes: number[]): Tensor {
  const numel = sizes.reduce((a, b) => a * b, 1);
  return fromTypedArray(
    Float64Array.from({ length: numel }, (_, i) => Math.sin(1 + i * 12.9898)),
    sizes,
  );
}

/** Square matrices far from singular ones. */
function square(...sizes: number[]): Tensor {
  const n = sizes.at(-1)!;
  return waves(...sizes).add(eye(n, null, { dtype: 'float64' }).mul(2));
}

const symmetric = (x: Tensor): Tensor => x.add(x.mT);
const positive = (x: Tensor): Tensor =>
  matmul(x, x.mT).add(eye(x.size(-1), null, { dtype: 'float64' }));

type Case = [name: string, fn: (...inputs: Tensor[]) => Tensor | Tensor[], inputs: Tensor[]];

const cases: Case[] = [
  ['inv', (x) => linalg.inv(x!), [square(2, 2, 2)]],
  ['solve', (a, b) => linalg.solve(a!, b!), [square(2, 2), waves(2, 2)]],
  ['solve, vectors', (a, b) => linalg.solve(a!, b!), [square(2, 2, 2), waves(2)]],
  ['solve, right', (a, b) => linalg.solve(a!, b!, { left: false }), [square(2, 2), waves(3, 2)]],
  ['solve, broadcast', (a, b) => linalg.solve(a!, b!), [square(2, 2, 2), waves(2, 1)]],
  ['cholesky', (x) => linalg.cholesky(positive(x!)), [waves(2, 2)]],
  ['cholesky, upper', (x) => linalg.cholesky(positive(x!), { upper: true }), [waves(2, 2)]],
  [
    'choleskySolve',
    (b, x) => linalg.choleskySolve(b!, linalg.cholesky(positive(x!))),
    [waves(2, 1), waves(2, 2)],
  ],
  ['choleskyInverse', (x) => linalg.choleskyInverse(linalg.cholesky(positive(x!))), [waves(2, 2)]],
  ['det', (x) => linalg.det(x!), [square(2, 3, 3)]],
  ['slogdet', (x) => linalg.slogdet(x!)[1], [square(2, 2)]],
  ['eigvalsh', (x) => linalg.eigvalsh(symmetric(x!)), [waves(3, 3)]],
  [
    // Squares do not know the signs of vectors.
    'eigh',
    (x) => {
      const [values, vectors] = linalg.eigh(symmetric(x!));
      return [values, vectors.square()];
    },
    [waves(3, 3)],
  ],
  ['lu', (x) => linalg.lu(x!).slice(1), [square(2, 2)]],
  ['lu, wide', (x) => linalg.lu(x!).slice(1), [waves(2, 3)]],
  ['lu, tall', (x) => linalg.lu(x!).slice(1), [waves(5, 2).narrow(0, 1, 4)]],
  ['lu without pivots', (x) => linalg.lu(x!, { pivot: false }).slice(1), [square(2, 2)]],
  [
    'luSolve',
    (a, b) => {
      const [lu, pivots] = linalg.luFactor(a!);
      return linalg.luSolve(lu, pivots, b!);
    },
    [square(2, 2), waves(2, 1)],
  ],
  ['lstsq', (a, b) => linalg.lstsq(a!, b!)[0], [waves(3, 2), waves(3, 1)]],
  ['lstsq, wide', (a, b) => linalg.lstsq(a!, b!)[0], [waves(2, 3), waves(2, 1)]],
  ['lstsq, vectors', (a, b) => linalg.lstsq(a!, b!)[0], [waves(2, 3, 2), waves(2, 3)]],
  [
    'residuals of lstsq',
    (a, b) => linalg.lstsq(a!, b!, { driver: 'gels' }).slice(0, 2),
    [waves(3, 2), waves(3, 2)],
  ],
  [
    'residuals of lstsq, vectors',
    (a, b) => linalg.lstsq(a!, b!, { driver: 'gelsd' })[1],
    [waves(2, 3, 2), waves(2, 3)],
  ],
  ['pinv', (x) => linalg.pinv(x!), [waves(3, 2)]],
  ['matrixPower', (x) => [linalg.matrixPower(x!, 3), linalg.matrixPower(x!, -2)], [square(2, 2)]],
  ['cond', (x) => [linalg.cond(x!), linalg.cond(x!, 'fro')], [square(2, 2)]],
  ['multiDot', (...xs) => linalg.multiDot(xs), [waves(2), waves(2, 3), waves(3, 2)]],
  ['vander', (x) => linalg.vander(x!, { n: 4 }), [waves(3)]],
  ['vecdot', (a, b) => linalg.vecdot(a!, b!), [waves(2, 3), waves(3)]],
  ['householderProduct', (x, t) => linalg.householderProduct(x!, t!), [waves(3, 2), waves(2)]],
];

describe('derivatives of linear algebra', () => {
  it.each(cases)('%s', (_name, fn, inputs) => {
    expect(gradientError(fn, inputs)).toBeLessThan(1e-6);
    expect(secondGradientError(fn, inputs)).toBeLessThan(2e-5);
  });

  it('a determinant of a singular matrix has the cofactors for its gradient', () => {
    for (const rows of [
      [
        [1, 2, 3],
        [2, 4, 6],
        [1, 0, 1],
      ],
      [
        [1, 2, 3],
        [2, 4, 6],
        [3, 6, 9],
      ],
      [
        [0, 0, 0],
        [0, 1, 2],
        [0, 0, 3],
      ],
    ])
      expect(
        gradientError((x) => linalg.det(x!), [tensor(rows, { dtype: 'float64' })]),
      ).toBeLessThan(1e-8);
  });
});
