/**
 * @file LDLᵀ factors and solving with them, as PyTorch 2.13 (LAPACK) has them.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, eye, matmul, randn, tensor, zeros } from '../src/index.js';
import * as linalg from '../src/linalg.js';
import { gradientError } from './support/gradient-check.js';

const double = { dtype: 'float64' } as const;
const int = (data: number[]): Tensor => tensor(data, { dtype: 'int32' });

// prettier-ignore
const CASES: readonly (readonly [a: number[][], ld: number[][], pivots: number[], info: number])[] = [
  [[[4, 2, -2], [2, 2, -3], [-2, -3, 1]], [[4, 0, 0], [0.5, 1, 0], [-0.5, -2, 0]], [1, -3, -3], 0],
  [[[0, 1, 2], [1, 0, 3], [2, 3, 0]], [[0, 0, 0], [2, 0, 0], [1.5, 0.5, -3]], [-3, -3, 3], 0],
  [[[1e-3, 5, 1, 2], [5, 1e-2, 3, 4], [1, 3, 0.5, 2], [2, 4, 2, -1]], [[0.001, 0, 0, 0], [5, 0.01, 0, 0], [0.599600239840096, 0.199880079952032, -0.6992404796961921, 0], [0.799200319680128, 0.39984015993606403, -0.0018294142699457948, -4.1977589389168415]], [-2, -2, 3, 4], 0],
  [[[0, 0], [0, 0]], [[0, 0], [0, 0]], [1, 2], 1],
  [[[0, 0], [0, 1]], [[0, 0], [0, 1]], [1, 2], 1],
  [[[1, 2], [2, 4]], [[4, 0], [0.5, 0]], [2, 2], 2],
  [[[1, 99], [2, 3]], [[3, 0], [2 / 3, -1 / 3]], [2, 2], 0],
  [[[0, 1, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 2, 3], [0, 0, 2, 0, 1], [0, 0, 3, 1, 0]], [[0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 3, 0, 0], [0, 0, 1 / 3, 2 / 3, -4 / 3]], [-2, -2, -5, -5, 5], 0],
];

describe.each(CASES)('%j', (data, ld, pivots, info) => {
  const a = tensor(data, double);
  const [found, swaps, code] = linalg.ldlFactorEx(a);
  it('has the factors of LAPACK', () => {
    expect(found.allclose(tensor(ld, double), { rtol: 1e-13, atol: 1e-15 })).toBe(true);
    expect(swaps.toArray()).toEqual(pivots);
    expect(swaps.dtype).toBe('int32');
    expect(code.item()).toBe(info);
    expect(found.stride()).toEqual([1, data.length]);
  });
  it.runIf(info === 0 && data[0]![1] !== 99)('is solved with', () => {
    const inverse = linalg.ldlSolve(found, swaps, eye(data.length, null, double));
    expect(matmul(a, inverse).allclose(eye(data.length, null, double))).toBe(true);
  });
});

it('random symmetric matrices in batches, with right sides that broadcast', () => {
  const half = randn([6, 9, 9], double);
  const a = half.add(half.mT);
  const [ld, pivots] = linalg.ldlFactor(a);
  const b = randn([9, 2], double);
  const x = linalg.ldlSolve(ld, pivots, b);
  expect(x.sizes).toEqual([6, 9, 2]);
  expect(x.stride()).toEqual([18, 1, 9]);
  expect(matmul(a, x).allclose(b.expand([6, 9, 2]), { atol: 1e-9 })).toBe(true);
  expect(linalg.ldlFactor(zeros([0, 0])).map(({ sizes }) => sizes)).toEqual([[0, 0], [0]]);
});

it('has a derivative towards the right side, and none towards factors', () => {
  const a = tensor(
    [
      [0, 1, 2],
      [1, 0, 3],
      [2, 3, 0],
    ],
    double,
  );
  const [ld, pivots] = linalg.ldlFactor(a);
  const b = randn([2, 3, 1], double);
  expect(gradientError((v) => linalg.ldlSolve(ld, pivots, v), [b])).toBeLessThan(1e-6);
  const factors = ld.detach().requiresGrad_();
  expect(() => linalg.ldlSolve(factors, pivots, b).sum().backward()).toThrow(
    'derivative for aten::linalg_ldl_solve is not implemented',
  );
});

it("refuses in PyTorch's words", () => {
  expect(() => linalg.ldlFactor(zeros([2, 2]))).toThrow('torch.linalg.ldl_factor: D[1,1] is zero');
  expect(() => linalg.ldlFactor(zeros([3, 2, 2]))).toThrow(
    'torch.linalg.ldl_factor: (Batch element 0): D[1,1]',
  );
  expect(() => linalg.ldlFactor(zeros([3, 2]))).toThrow(
    'torch.linalg.ldl_factor_ex: A must be batches of square matrices, but they are 3 by 2 matrices',
  );
  expect(() => linalg.ldlFactor(zeros([3]))).toThrow(
    'torch.linalg.ldl_factor_ex: The input tensor A must have at least 2 dimensions.',
  );
  const [ld, pivots] = linalg.ldlFactor(eye(2).mul(2));
  const one = tensor([[1], [1]]);
  expect(() => linalg.ldlSolve(ld, pivots, tensor([[1], [1], [1]]))).toThrow(
    'Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is 2 by 2 but each b matrix is 3 by 1',
  );
  expect(() => linalg.ldlSolve(ld, pivots.to('float32'), one)).toThrow(
    'torch.linalg.ldl_solve: Expected pivots to be integers. Got Float',
  );
  expect(() => linalg.ldlSolve(ld, int([1]), one)).toThrow(
    'torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape [1] instead',
  );
  expect(() => linalg.ldlSolve(ld, pivots, one.to('float64'))).toThrow(
    'Expected b and A to have the same dtype, but found b of type Double and A of type Float instead.',
  );
});
