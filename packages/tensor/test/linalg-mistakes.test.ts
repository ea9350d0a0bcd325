/**
 * @file What linear algebra refuses, in PyTorch's words, and matrices that it reports on instead.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, eye, matmul, ones, tensor, zeros } from '../src/index.js';
import * as linalg from '../src/linalg.js';
import { type Mistake, testMistakes } from './support/mistakes.js';

const singular = tensor([
  [1, 2],
  [2, 4],
]);
const wide = ones([2, 3]);
const long = { dtype: 'int64' } as const;

const mistakes: readonly Mistake[] = [
  [
    'the inverse of a singular matrix',
    () => linalg.inv(singular),
    'linalg-error',
    'linalg.inv: The diagonal element 2 is zero, the inversion could not be completed because the input matrix is singular.',
  ],
  [
    'one of a batch',
    () => linalg.inv(zeros([2, 2, 2])),
    'linalg-error',
    'linalg.inv: (Batch element 0): The diagonal element 1 is zero',
  ],
  [
    'the inverse of a wide matrix',
    () => linalg.inv(wide),
    'shape-mismatch',
    'linalg.inv: A must be batches of square matrices, but they are 2 by 3 matrices',
  ],
  ['a vector', () => linalg.inv(ones([3])), 'invalid-dim', 'at least 2 dimensions'],
  ['integers', () => linalg.inv(ones([2, 2], long)), 'dtype-unsupported', 'Got int64'],
  [
    'solving with a singular matrix',
    () => linalg.solve(singular, ones([2])),
    'linalg-error',
    'torch.linalg.solve: The solver failed because the input matrix is singular.',
  ],
  [
    'right sides of another height',
    () => linalg.solve(eye(2), ones([3, 2])),
    'shape-mismatch',
    'Incompatible shapes of A and B for the equation AX = B (2x2 and 3x2)',
  ],
  [
    'right sides of another dtype',
    () => linalg.solve(eye(2), ones([2, 2], { dtype: 'float64' })),
    'dtype-mismatch',
    'Expected A and B to have the same dtype, but found A of type float32 and B of type float64',
  ],
  [
    'a vector on the left',
    () => linalg.solve(eye(2), ones([2]), { left: false }),
    'invalid-argument',
    'Vector broadcasting of the left hand side is not supported for left=False.',
  ],
  [
    'the Cholesky factor of a negative matrix',
    () => linalg.cholesky(eye(2).neg()),
    'linalg-error',
    'linalg.cholesky: The factorization could not be completed because the input is not positive-definite (the leading minor of order 1 is not positive-definite).',
  ],
  [
    'the factors of a singular matrix, to solve with',
    () => linalg.luFactor(singular),
    'linalg-error',
    'torch.linalg.lu_factor: U[2,2] is zero',
  ],
  ['det of a wide matrix', () => linalg.det(wide), 'shape-mismatch', 'linalg.det'],
  [
    'a third triangle',
    () => linalg.eigh(singular, { uplo: 'X' as never }),
    'invalid-argument',
    "Expected UPLO argument to be 'L' or 'U', but got X",
  ],
  [
    'NaN in a symmetric matrix',
    () => linalg.eigh(tensor([[NaN]])),
    'linalg-error',
    'linalg.eigh: The algorithm failed to converge',
  ],
  [
    'least squares of other heights',
    () => linalg.lstsq(ones([3, 2]), ones([4, 1])),
    'shape-mismatch',
    'torch.linalg.lstsq: input.size(-2) should match other.size(-2)',
  ],
  [
    'an unknown driver',
    () => linalg.lstsq(ones([3, 2]), ones([3, 1]), { driver: 'foo' as never }),
    'invalid-argument',
    'parameter `driver` should be one of (gels, gelsy, gelsd, gelss)',
  ],
  [
    'the power of a wide matrix',
    () => linalg.matrixPower(wide, 2),
    'shape-mismatch',
    'linalg.matrix_power: A must be batches of square matrices',
  ],
  [
    'a chain of one',
    () => linalg.multiDot([wide]),
    'invalid-argument',
    'multi_dot(): expected at least 2 tensors but got 1',
  ],
  [
    'a chain that does not fit',
    () => linalg.multiDot([wide, wide]),
    'shape-mismatch',
    'multi_dot(): tensors 0 and 1 with shapes [2, 3] and [2, 3] cannot be multiplied',
  ],
  [
    'a batch in a chain',
    () => linalg.multiDot([wide, ones([3, 2, 2]), ones([2, 2])]),
    'shape-mismatch',
    'multi_dot(): tensor 1 must be 2D but got 3D',
  ],
  [
    'powers of no vector',
    () => linalg.vander(tensor(1)),
    'invalid-argument',
    'N must be greater than 1.',
  ],
  [
    'an unknown norm',
    () => linalg.cond(singular, 3),
    'invalid-argument',
    'linalg.cond got an invalid norm type: 3',
  ],
  [
    'a condition number of a wide matrix',
    () => linalg.cond(wide, 1),
    'shape-mismatch',
    'linalg.cond(ord=1): A must be batches of square matrices',
  ],
  [
    'reflections of a wide matrix',
    () => linalg.householderProduct(wide, ones([2])),
    'shape-mismatch',
    'input.shape[-2] must be greater than or equal to input.shape[-1]',
  ],
  [
    'a vector to solve for with a Cholesky factor',
    () => linalg.choleskySolve(ones([3]), eye(3)),
    'invalid-dim',
    'b should have at least 2 dimensions, but has 1 dimensions instead',
  ],
  [
    'pivots that are none',
    () => linalg.luUnpack(eye(2), ones([2])),
    'dtype-mismatch',
    'torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.',
  ],
];

testMistakes(mistakes);

function largest(x: Tensor): number {
  return x.abs().max().item();
}

describe('matrices without an inverse', () => {
  it('are reported per matrix by the functions in Ex', () => {
    const pair = tensor([
      [
        [1, 2],
        [2, 4],
      ],
      [
        [2, 0],
        [0, 2],
      ],
    ]);
    expect(linalg.invEx(pair)[1].toArray()).toEqual([2, 0]);
    expect(linalg.solveEx(pair, ones([2, 2, 1]))[1].toArray()).toEqual([2, 0]);
    expect(linalg.choleskyEx(pair)[1].toArray()).toEqual([2, 0]);
    expect(linalg.luFactorEx(pair)[2].toArray()).toEqual([2, 0]);
    expect(linalg.invEx(pair)[0].select(0, 1).toArray()).toEqual([
      [0.5, 0],
      [0, 0.5],
    ]);
    expect(() => linalg.choleskyEx(pair, { checkErrors: true })).toThrow('(Batch element 0)');
  });

  it('have a rank, and are infinitely badly conditioned', () => {
    expect(linalg.matrixRank(singular).item()).toBe(1);
    expect(
      linalg
        .matrixRank(
          tensor([
            [1, 0],
            [0, 1e-3],
          ]),
          { atol: 0.01 },
        )
        .item(),
    ).toBe(1);
    expect(linalg.cond(singular, 1).item()).toBe(Infinity);
  });
});

describe('eigenvectors', () => {
  it('are orthonormal and give the matrix again, of low rank too', () => {
    const row = ones([40, 1], { dtype: 'float64' });
    for (const x of [matmul(row, row.mT), row.mul(row.mT.cumsum(1)).add(row.cumsum(0))]) {
      const y = x.add(x.mT);
      const [values, vectors] = linalg.eigh(y);
      const again = matmul(vectors.mul(values.unsqueeze(-2)), vectors.mT);
      expect(largest(again.sub(y)) / largest(y)).toBeLessThan(1e-13);
      const one = eye(40, null, { dtype: 'float64' });
      expect(largest(matmul(vectors.mT, vectors).sub(one))).toBeLessThan(1e-13);
    }
  });
});
