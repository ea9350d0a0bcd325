/**
 * @file Float32 reductions over millions of elements stay within a millionth of the float64 result.
 *
 * Equal elements are the hard case: a sum that adds each to one float32 errs the same way every time.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { type Tensor, full, manualSeed, norm, rand, tensor } from '@tessera/tensor';
import { functional as F } from '@tessera/nn';
import { compile, config } from '../src/index.js';

const ROWS = 5_000_000;
const LIMIT = 1e-6;

type Reduction = [name: string, fn: (x: Tensor) => Tensor];

function relativeError(actual: Tensor, expected: Tensor): number {
  const wanted = expected.flatten().toArray() as number[];
  return Math.max(
    ...(actual.to('float64').flatten().toArray() as number[]).map(
      (value, i) => Math.abs(value - wanted[i]!) / Math.abs(wanted[i]!),
    ),
  );
}

/** Eager kernels made by inductor, and a compiled function with something to fuse. */
function expectAccurate(x: Tensor, fn: (x: Tensor) => Tensor, limit = LIMIT): void {
  const expected = fn(x.to('float64'));
  expect(relativeError(fn(x), expected), 'eager').toBeLessThan(limit);
  expect(
    relativeError(compile((y: Tensor) => fn(y.neg().neg()))(x), expected),
    'compiled',
  ).toBeLessThan(limit);
}

describe('5 million equal elements', () => {
  const x = full([ROWS], 0.1);
  afterAll(() => x.dispose());
  const cases: Reduction[] = [
    ['sum', (x) => x.sum()],
    ['mean', (x) => x.mean()],
    ['norm', (x) => norm(x)],
    ['1-norm', (x) => norm(x, 1)],
    ['last of cumsum', (x) => x.cumsum(0).narrow(0, ROWS - 1, 1)],
    ['mseLoss', (x) => F.mseLoss(x, x.mul(2))],
    ['logsumexp', (x) => x.logsumexp(0)],
    ['column sums', (x) => x.view([ROWS / 10, 10]).sum(0)],
    ['column sums of two columns', (x) => x.view([ROWS / 2, 2]).sum(0)],
    ['sums of 100 columns', (x) => x.view([ROWS / 100, 100]).sum(0)],
    ['row sums', (x) => x.view([50, ROWS / 50]).sum(1)],
    ['sums over the outer and the inner dimension', (x) => x.view([ROWS / 40, 10, 4]).sum([0, 2])],
    ['sums over the outer two dimensions', (x) => x.view([ROWS / 1000, 10, 100]).sum([0, 1])],
    [
      'sums of rows of 3',
      (x) => x.narrow(0, 0, 4_999_995).view([-1, 5, 3]).permute([1, 0, 2]).sum([1, 2]),
    ],
  ];
  it.each(cases)('%s', (_, fn) => expectAccurate(x, fn));
});

describe('5 million random numbers', () => {
  manualSeed(0);
  const x = rand([ROWS]).add(1);
  afterAll(() => x.dispose());
  const cases: Reduction[] = [
    ['sum', (x) => x.sum()],
    ['var', (x) => x.var()],
    ['std', (x) => x.std()],
    ['var of columns', (x) => x.view([ROWS / 10, 10]).var(0)],
    ['var of rows', (x) => x.view([50, ROWS / 50]).var(1)],
    ['mean of columns of a channel', (x) => x.view([5, 10, ROWS / 50]).mean([0, 2])],
    ['var of columns of a channel', (x) => x.view([5, 10, ROWS / 50]).var([0, 2])],
    ['var of rows of odd length', (x) => x.narrow(0, 0, 4_999_550).view([50, 99_991]).var(1)],
    [
      'var of odd planes',
      (x) => x.narrow(0, 0, 4_995_000).view([5, 9, 111_000]).narrow(2, 0, 99_991).var([0, 2]),
    ],
    [
      'logsumexp of rows of odd length',
      (x) => x.narrow(0, 0, 4_999_550).view([50, 99_991]).logsumexp(1),
    ],
    [
      'softmax of rows of odd length',
      (x) => x.narrow(0, 0, 4_999_550).view([50, 99_991]).mul(3).softmax(1).narrow(1, 0, 3),
    ],
    ['logsumexp of rows', (x) => x.view([50, ROWS / 50]).logsumexp(1)],
    [
      'softmax of rows',
      (x) =>
        x
          .view([10, ROWS / 10])
          .softmax(1)
          .narrow(1, 0, 3),
    ],
  ];
  it.each(cases)('%s', (_, fn) => expectAccurate(x, fn));
});

it('half types add in float32 as exactly', () => {
  for (const dtype of ['float16', 'bfloat16'] as const) {
    const x = full([ROWS], 0.0078125 * 1.5, { dtype });
    const exact = ROWS * 0.0078125 * 1.5;
    const total = compile((y: Tensor) => y.neg().neg().to('float32').sum())(x);
    expect(Math.abs((total.item() as number) - exact) / exact, dtype).toBeLessThan(LIMIT);
    expect(x.mean().item(), dtype).toBe(0.0078125 * 1.5);
  }
});

it('infinities and NaN are what they are in a plain sum', () => {
  const x = full([100_000], 1.5);
  const at = (value: number): Tensor =>
    x.clone().indexFill(0, tensor([70_000], { dtype: 'int64' }), value);
  for (const fn of [(y: Tensor) => y.sum(), (y: Tensor) => y.view([50_000, 2]).sum([0, 1])]) {
    expect(compile(fn)(at(Infinity)).item()).toBe(Infinity);
    expect(compile(fn)(at(-Infinity)).item()).toBe(-Infinity);
    expect(compile(fn)(at(NaN)).item()).toBeNaN();
  }
});

it('reference kernels sum as exactly', () => {
  config.patch({ 'eager.kernels': 'reference' }, () => {
    const x = full([500_000], 0.1);
    for (const fn of [(y: Tensor) => y.sum(), (y: Tensor) => y.view([50_000, 10]).mean(0)])
      expect(relativeError(fn(x), fn(x.to('float64')))).toBeLessThan(LIMIT);
  });
});
