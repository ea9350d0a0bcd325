/**
 * @file `tensorinv` and `tensorsolve`: their definitions by `tensordot`, and what PyTorch refuses.
 */
import { expect, it } from 'vitest';
import { type Tensor, manualSeed, randn, tensordot } from '../src/index.js';
import { tensorinv, tensorsolve } from '../src/linalg.js';
import { gradientError } from './support/gradient-check.js';

const double = { dtype: 'float64' } as const;
const close = (a: Tensor, b: Tensor): void => {
  expect(a.sizes).toEqual(b.sizes);
  expect(a.allclose(b, { rtol: 1e-8, atol: 1e-8 })).toBe(true);
};

it('tensorinv undoes tensordot', () => {
  manualSeed(3);
  const a = randn([4, 6, 8, 3], double);
  const x = randn([8, 3], double);
  expect(tensorinv(a).sizes).toEqual([8, 3, 4, 6]);
  close(tensordot(tensorinv(a), tensordot(a, x, 2), 2), x);
  const b = randn([6, 2, 3], double);
  const y = randn([2, 3], double);
  close(tensordot(tensorinv(b, { ind: 1 }), tensordot(b, y, 2), 1), y);
});

it('tensorsolve solves tensordot, also with dimensions moved', () => {
  manualSeed(4);
  const a = randn([2, 3, 6], double);
  const b = randn([2, 3], double);
  close(tensordot(a, tensorsolve(a, b), 1), b);
  const moved = a.permute([2, 0, 1]);
  close(tensorsolve(moved, b, { dims: [0] }), tensorsolve(a, b));
  expect(gradientError((m: Tensor, v: Tensor) => tensorsolve(m, v), [a, b])).toBeLessThan(1e-5);
});

it('are refused in the words of PyTorch', () => {
  expect(() => tensorinv(randn([2, 3, 5]))).toThrow(
    'Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got 5 != 6',
  );
  expect(() => tensorinv(randn([2, 2]), { ind: 0 })).toThrow(
    "Expected a strictly positive integer for 'ind', but got 0",
  );
  expect(() => tensorsolve(randn([2, 3, 5]), randn([2, 3]))).toThrow(
    'Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got 5 != 6',
  );
});
