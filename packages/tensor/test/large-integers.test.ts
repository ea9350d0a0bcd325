/**
 * @file int64 beyond 2⁵³, where doubles lose low bits: results are exact modulo 2⁶⁴, as PyTorch's, which was called
 * beside on 10,000 calls of these operators.
 */
import { describe, expect, it } from 'vitest';
import { type DType, type Tensor, callOp, getOp, isin, tensor, where } from '../src/index.js';

const LEAST = -(2n ** 63n);
const MOST = 2n ** 63n - 1n;
/** Beside the limits of doubles and of int64, small ones, and some with bits everywhere. */
const A = [2n ** 53n + 1n, -(2n ** 53n) - 1n, MOST, LEAST + 1n, 7n, -3n, 1234567890123456789n, 0n];
const B = [
  2n ** 53n,
  3n,
  2n,
  -(2n ** 62n) - 5n,
  -9n,
  MOST - 8n,
  -987654321987654321n,
  2n ** 40n + 1n,
];

const NARROW = [5, -7, 3, 2, -1, 9, 11, 4];

const longs = (values: readonly bigint[]): Tensor => tensor([...values], { dtype: 'int64' });
const wrap = (value: bigint): bigint => BigInt.asIntN(64, value);
const valuesOf = (x: Tensor): unknown[] => Array.from(x.toTypedArray() as ArrayLike<unknown>);
const floored = (a: bigint, b: bigint): bigint => {
  const rest = a % b;
  return a / b - (rest !== 0n && rest < 0n !== b < 0n ? 1n : 0n);
};
const magnitude = (a: bigint): bigint => (a < 0n ? -a : a);
const divisor = (a: bigint, b: bigint): bigint => (b === 0n ? magnitude(a) : divisor(b, a % b));

const BINARY: Readonly<Record<string, (a: bigint, b: bigint) => bigint>> = {
  mul: (a, b) => a * b,
  maximum: (a, b) => (a > b ? a : b),
  minimum: (a, b) => (a < b ? a : b),
  fmax: (a, b) => (a > b ? a : b),
  floorDivide: floored,
  remainder: (a, b) => a - floored(a, b) * b,
  fmod: (a, b) => a % b,
  bitwiseAnd: (a, b) => a & b,
  bitwiseOr: (a, b) => a | b,
  bitwiseXor: (a, b) => a ^ b,
  gcd: divisor,
  lcm: (a, b) => magnitude(wrap((a / divisor(a, b)) * b)),
  heaviside: (a, b) => (a > 0n ? 1n : a < 0n ? 0n : b),
};

describe('operators of two tensors', () => {
  it.each(Object.entries(BINARY))('%s', (name, exact) => {
    const call = (x: Tensor, y: Tensor): Tensor =>
      (x as unknown as Record<string, (other: Tensor) => Tensor>)[name]!(y);
    expect(valuesOf(call(longs(A), longs(B)))).toEqual(A.map((a, i) => wrap(exact(a, B[i]!))));
    // A tensor without dimensions, and one of a narrower dtype beside.
    expect(valuesOf(call(longs(A), longs([B[6]!]).reshape([])))).toEqual(
      A.map((a) => wrap(exact(a, B[6]!))),
    );
    if (name !== 'heaviside')
      expect(valuesOf(call(longs(A), tensor(NARROW, { dtype: 'int32' })))).toEqual(
        A.map((a, i) => wrap(exact(a, BigInt(NARROW[i]!)))),
      );
  });

  it('sums with a factor', () => {
    const alpha = 2 ** 31 + 11;
    expect(valuesOf(longs(A).add(longs(B), { alpha }))).toEqual(
      A.map((a, i) => wrap(a + BigInt(alpha) * B[i]!)),
    );
    // The product alone is beyond doubles.
    expect(valuesOf(longs([-2n]).sub(longs([-(2n ** 52n) - 1n]), { alpha: 2 }))).toEqual([
      2n ** 53n,
    ]);
    expect(valuesOf(longs(A).addcmul(longs(B), longs(A), { value: -3 }))).toEqual(
      A.map((a, i) => wrap(a - 3n * B[i]! * a)),
    );
  });

  it('quotients cut towards zero', () => {
    expect(valuesOf(longs(A).div(longs(B), { roundingMode: 'trunc' }))).toEqual(
      A.map((a, i) => a / B[i]!),
    );
  });

  it('powers', () => {
    const exponents = [2n, 3n, 5n, 64n, 40n, -1n, MOST, 0n];
    const power = (a: bigint, b: bigint): bigint => {
      if (b < 0n) return a === 1n ? 1n : a === -1n ? (b % 2n === 0n ? 1n : -1n) : 0n;
      let result = 1n;
      for (let [base, rest] = [a, b]; rest > 0n; rest >>= 1n, base = wrap(base * base))
        if (rest & 1n) result = wrap(result * base);
      return result;
    };
    expect(valuesOf(longs(A).pow(longs(exponents)))).toEqual(
      A.map((a, i) => power(a, exponents[i]!)),
    );
    for (const base of [2n, 3n, -5n, 7n, 10n, 99n, -1n, 1n])
      for (let e = 0n; e < 70n; e++)
        expect(valuesOf(longs([base]).pow(Number(e)))).toEqual([power(base, e)]);
    expect(valuesOf(longs([-1n, 1n, 5n]).pow(longs([LEAST, LEAST + 1n, LEAST])))).toEqual([
      1n,
      1n,
      0n,
    ]);
  });

  it('shifts', () => {
    const by = [0n, 1n, 9n, 31n, 32n, 62n, 63n, 64n];
    expect(valuesOf(longs(A).bitwiseLeftShift(longs(by)))).toEqual(
      A.map((a, i) => (by[i]! > 63n ? 0n : wrap(a << by[i]!))),
    );
    expect(valuesOf(longs(A).bitwiseRightShift(longs(by)))).toEqual(A.map((a, i) => a >> by[i]!));
  });

  it('comparisons and choices', () => {
    const near = [2n ** 53n, 2n ** 53n + 1n];
    const [x, y] = [longs(near), longs([...near].reverse())];
    expect(x.eq(y).toArray()).toEqual([false, false]);
    expect(x.lt(y).toArray()).toEqual([true, false]);
    expect(x.ge(2 ** 53).toArray()).toEqual([true, true]);
    expect(valuesOf(where(tensor([true, false]), x, y))).toEqual([near[0], near[0]]);
    expect(valuesOf(x.maskedFill(tensor([true, false]), 5))).toEqual([5n, near[1]]);
    expect(valuesOf(longs(A).clamp(longs(B), longs(B).add(5)))).toEqual(
      A.map((a, i) => (a < B[i]! ? B[i]! : a > B[i]! + 5n ? B[i]! + 5n : a)),
    );
    expect(valuesOf(x.clamp(0, 7))).toEqual([7n, 7n]);
    expect(isin(x, longs([near[1]!])).toArray()).toEqual([false, true]);
  });
});

const UNARY: Readonly<Record<string, (a: bigint) => bigint>> = {
  neg: (a) => -a,
  abs: magnitude,
  sign: (a) => (a > 0n ? 1n : a < 0n ? -1n : 0n),
  square: (a) => a * a,
  bitwiseNot: (a) => ~a,
  floor: (a) => a,
  round: (a) => a,
  relu: (a) => (a > 0n ? a : 0n),
  clone: (a) => a,
};

it.each(Object.entries(UNARY))('%s', (name, exact) => {
  const call = (longs(A) as unknown as Record<string, () => Tensor>)[name]!.bind(longs(A));
  expect(valuesOf(call())).toEqual(A.map((a) => wrap(exact(a))));
});

describe('many elements', () => {
  const row = [2n ** 53n, 1n, 1n, -(2n ** 53n), MOST, 3n];
  const running = (start: bigint, step: (a: bigint, b: bigint) => bigint): bigint[] => {
    let held = start;
    return row.map((value) => (held = wrap(step(held, value))));
  };
  const sums = running(0n, (a, b) => a + b);
  const products = running(1n, (a, b) => a * b);

  it('sums, products and running ones, where what was lost would be within doubles again', () => {
    expect(valuesOf(longs(row.slice(0, 4)).sum())).toEqual([2n]);
    expect(valuesOf(longs(row).cumsum(0))).toEqual(sums);
    expect(valuesOf(longs(row).sum())).toEqual(sums.slice(-1));
    expect(valuesOf(longs(row).cumprod(0))).toEqual(products);
    expect(valuesOf(longs(row).prod())).toEqual(products.slice(-1));
    expect(valuesOf(longs(row).prod(null, { dtype: 'int32' }))).toEqual([
      Number(BigInt.asIntN(32, products.at(-1)!)),
    ]);
    expect(longs(row).sum(null, { dtype: 'float64' }).item()).toBe(2 ** 63);
  });

  it('extremes and order', () => {
    const near = [2n ** 53n + 2n, 2n ** 53n + 1n, 2n ** 53n, 2n ** 53n + 3n];
    expect(longs(near).argmax().item()).toBe(3);
    expect(longs(near).argmin().item()).toBe(2);
    expect(valuesOf(longs(near).max())).toEqual([2n ** 53n + 3n]);
    expect(valuesOf(longs(near).max(0)[0])).toEqual([2n ** 53n + 3n]);
    expect(valuesOf(longs(near).sort()[0])).toEqual([near[2], near[1], near[0], near[3]]);
    expect(valuesOf(longs(near).topk(2)[1])).toEqual([3n, 0n]);
    expect(valuesOf(longs(near).median())).toEqual([2n ** 53n + 1n]);
    expect(valuesOf(longs(near).cummax(0)[0])).toEqual([near[0], near[0], near[0], near[3]]);
    expect(valuesOf(longs([...near, near[1]!]).unique())).toEqual([
      near[2],
      near[1],
      near[0],
      near[3],
    ]);
    // Long rows are sorted by their bits.
    const many = Array.from({ length: 100 }, (_, i) => wrap(BigInt(i * 7919) * 1234567890123457n));
    const sorted = many.toSorted((a, b) => (a < b ? -1 : 1));
    expect(valuesOf(longs(many).sort()[0])).toEqual(sorted);
    expect(valuesOf(longs(many).sort(0, { descending: true })[0])).toEqual(sorted.reverse());
  });

  it('matrix products', () => {
    const [x, y] = [longs(A).reshape([2, 4]), longs(B).reshape([4, 2])];
    const product = [0, 1].flatMap((r) =>
      [0, 1].map((c) => wrap([0, 1, 2, 3].reduce((t, k) => t + A[r * 4 + k]! * B[k * 2 + c]!, 0n))),
    );
    expect(valuesOf(x.matmul(y).reshape([-1]))).toEqual(product);
    expect(valuesOf(longs(A).dot(longs(B)))).toEqual([
      wrap(A.reduce((t, a, i) => t + a * B[i]!, 0n)),
    ]);
    expect(
      valuesOf(tensor([5], { dtype: 'int64' }).addmm(x, y, { beta: 3, alpha: -7 }).reshape([-1])),
    ).toEqual(product.map((p) => wrap(15n - 7n * p)));
  });
});

it('moving elements keeps them', () => {
  const x = longs(A);
  const index = tensor([3, 0], { dtype: 'int64' });
  const moved = [A[3], A[0]];
  expect(valuesOf(x.indexSelect(0, index))).toEqual(moved);
  expect(valuesOf(x.gather(0, index))).toEqual(moved);
  expect(valuesOf(x.flip(0))).toEqual(A.toReversed());
  expect(valuesOf(x.reshape([2, 4]).t().contiguous().t().reshape([-1]))).toEqual(A);
  expect(valuesOf(x.scatter(0, index, longs([B[6]!, B[3]!])).indexSelect(0, index))).toEqual([
    B[6],
    B[3],
  ]);
  expect(valuesOf(x.scatterAdd(0, index, longs([MOST, MOST])).indexSelect(0, index))).toEqual(
    [A[3]!, A[0]!].map((a) => wrap(a + MOST)),
  );
  expect(valuesOf(x.maskedSelect(x.gt(7)))).toEqual(A.filter((a) => a > 7n));
  expect(x.reshape([2, 4]).tril().toString()).toContain('9007199254740993');
});

describe('conversions', () => {
  it.each<[DType, (a: bigint) => number]>([
    ['int32', (a) => Number(BigInt.asIntN(32, a))],
    ['uint8', (a) => Number(BigInt.asUintN(8, a))],
    ['bool', (a) => Number(a !== 0n)],
    ['float64', Number],
  ])('to %s', (dtype, exact) => {
    const far = [...A, 2n ** 60n];
    expect(valuesOf(longs(far).to(dtype))).toEqual(far.map(exact));
    // In place, what is computed in int64 is cut as it is written.
    if (dtype !== 'bool' && dtype !== 'float64')
      expect(valuesOf(longs(far).to(dtype).mul_(longs(far)))).toEqual(
        far.map((a) => exact(a * BigInt(exact(a)))),
      );
  });
});

it('numbers beside keep what doubles hold', () => {
  const add = getOp('aten::add.Scalar') as Parameters<typeof callOp>[0];
  expect(valuesOf(callOp(add, [longs(A), Number.MAX_SAFE_INTEGER, 1]) as Tensor)).toEqual(
    A.map((a) => wrap(a + BigInt(Number.MAX_SAFE_INTEGER))),
  );
});
