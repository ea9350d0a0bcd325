/**
 * @file Elements as numbers, and the kernels that walk positions, against what is computed one element at a time.
 */
import { describe, expect, it } from 'vitest';
import { readNumbers, writeNumbers } from '../src/kernels/elements.js';
import { halfToNumber } from '../src/kernels/float16.js';
import {
  type DType,
  type Tensor,
  arange,
  indexAdd,
  maskedSelect,
  nonzero,
  scatterAdd,
  tensor,
  zeros,
} from '../src/index.js';

const DTYPES = [
  'float32',
  'float64',
  'float16',
  'bfloat16',
  'int64',
  'int32',
  'int16',
  'int8',
  'uint8',
  'bool',
] as const satisfies readonly DType[];

/** What an element of a dtype holds of a number, as C converts and IEEE 754 rounds. */
function held(dtype: DType, value: number): number {
  if (dtype === 'float64') return value;
  if (dtype === 'float32') return Math.fround(value);
  if (dtype === 'bool') return value !== 0 ? 1 : 0;
  const bits = dtype === 'int64' ? 64 : Number(/\d+/.exec(dtype)![0]);
  if (!Number.isFinite(value)) return bits === 64 ? -(2 ** 63) : 0;
  const whole = BigInt(Math.trunc(value));
  return Number(dtype === 'uint8' ? BigInt.asUintN(8, whole) : BigInt.asIntN(bits, whole));
}

/** Elements by their coordinates, one at a time. */
function oneByOne(x: Tensor): number[] {
  if (x.ndim === 0) return [Number(x.item())];
  return Array.from({ length: x.sizes[0]! }, (_, i) => oneByOne(x.select(0, i))).flat();
}

/** Views of many layouts of eight numbers. */
const layouts: readonly (readonly [string, (x: Tensor) => Tensor])[] = [
  ['as it is', (x) => x],
  ['one row', (x) => x.reshape([1, 8, 1])],
  ['transposed', (x) => x.reshape([2, 4]).t()],
  ['every other one', (x) => x.slice(0, 1, 8, 2)],
  ['columns of a matrix', (x) => x.reshape([4, 2]).slice(1, 1, 2)],
  ['permuted', (x) => x.reshape([2, 2, 2]).permute([2, 0, 1])],
  ['nothing', (x) => x.slice(0, 3, 3)],
  ['one element', (x) => x.select(0, 5)],
];

describe('elements as numbers', () => {
  const numbers = [
    [NaN, Infinity, -Infinity, -0, 0.5, -1.5, 2 ** 53, -(2 ** 63)],
    [2 ** 32 - 1, 2 ** 31, -(2 ** 31) - 1, 2 ** 63, 1e300, -1e300, 255.9, -0.9],
    [2 ** 53 + 2, -(2 ** 40) - 3, 1 / 3, 5e-324, 128, -129, 65536, 1],
  ];

  it.each(DTYPES.filter((dtype) => dtype !== 'float16' && dtype !== 'bfloat16'))(
    'are rounded and wrapped to %s when written',
    (dtype) => {
      for (const values of numbers)
        for (const [name, view] of layouts) {
          const to = view(zeros([8], { dtype }));
          const part = values.slice(0, to.numel);
          writeNumbers(to, part);
          expect([...readNumbers(to)], name).toEqual(part.map((v) => held(dtype, v)));
        }
    },
  );

  it.each(DTYPES)('of %s are read in row-major order from any layout', (dtype) => {
    const values = [0, 1, -2, 3.5, 100, -7, 60000, 0.25];
    for (const [name, view] of layouts) {
      const from = view(tensor(values, { dtype: 'float64' }).to(dtype));
      expect([...readNumbers(from)], name).toEqual(oneByOne(from));
    }
  });

  it('are broadcast to larger sizes', () => {
    const column = tensor([[1], [2]]);
    expect([...readNumbers(column, [2, 2, 3])]).toEqual([1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2]);
  });

  it('of int64 beyond 2^53 are the nearest numbers', () => {
    const exact = [2n ** 53n + 1n, 2n ** 53n + 3n, -(2n ** 63n), 2n ** 63n - 1n, -(2n ** 60n) - 1n];
    const x = tensor(BigInt64Array.from(exact));
    expect([...readNumbers(x)]).toEqual(exact.map(Number));
  });

  it('of every half are what they were', () => {
    const bits = Uint16Array.from({ length: 2 ** 16 }, (_, i) => i);
    const half = (b: number): number => {
      const [sign, exponent, mantissa] = [b >> 15 ? -1 : 1, (b >> 10) & 31, b & 1023];
      if (exponent === 31) return mantissa === 0 ? sign * Infinity : NaN;
      const whole = exponent === 0 ? mantissa : mantissa + 1024;
      return sign * whole * 2 ** (Math.max(exponent, 1) - 25);
    };
    expect([...bits].map(halfToNumber)).toEqual([...bits].map(half));
  });
});

describe('kernels by positions', () => {
  it('scatter under an index that is smaller than both', () => {
    const index = tensor([[2, 0]], { dtype: 'int64' });
    const src = tensor([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    expect(scatterAdd(zeros([3, 4]), 0, index, src).toArray()).toEqual([
      [0, 2, 0, 0],
      [0, 0, 0, 0],
      [1, 0, 0, 0],
    ]);
    expect(
      scatterAdd(zeros([3, 4]), 1, index, src)
        .select(0, 0)
        .toArray(),
    ).toEqual([2, 0, 1, 0]);
  });

  it('find what is not 0, in views too', () => {
    const x = arange(12).reshape([3, 4]).t();
    const hits = nonzero(x.remainder(5).eq(0)).toArray();
    expect(hits).toEqual([
      [0, 0],
      [1, 1],
      [2, 2],
    ]);
    expect(maskedSelect(x, x.gt(8)).toArray()).toEqual([9, 10, 11]);
    expect(nonzero(tensor([NaN, -0, 0, -1])).toArray()).toEqual([[0], [3]]);
  });

  it('add slices of any dimension', () => {
    const x = indexAdd(
      zeros([2, 3]),
      1,
      tensor([2, 2, 0], { dtype: 'int64' }),
      arange(6).reshape([2, 3]).to('float32'),
    );
    expect(x.toArray()).toEqual([
      [2, 0, 1],
      [5, 0, 7],
    ]);
  });
});
