/**
 * @file Sorting by WebAssembly against the reference kernels: every dtype, NaN, signed zeros, ties, layouts, all ways to sort.
 */
import { type DType, DTYPES, type Tensor, empty, fromTypedArray } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { sortRows } from '../src/sorting/run-rows.js';

const SPECIAL = [Number.NaN, Infinity, -Infinity, 0, -0, 1.7976931348623157e308, 5e-324];
const ALL = Object.keys(DTYPES) as DType[];

/** Numbers of a dtype with many ties and, of floats, all that is special. */
function numbersOf(dtype: DType, sizes: readonly number[], seed = 1): Tensor {
  let state = seed;
  const random = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const isFloat = dtype.includes('float');
  const count = sizes.reduce((a, b) => a * b, 1);
  const values = Float64Array.from({ length: count }, () => {
    const kind = random();
    if (isFloat && kind < 0.1) return SPECIAL[Math.floor(random() * SPECIAL.length)]!;
    if (kind < 0.4) return Math.floor(random() * 9) - (dtype === 'uint8' ? 0 : 4);
    if (isFloat) return (random() - 0.5) * 10 ** (random() * 9 - 4);
    return Math.floor((random() - 0.5) * (dtype === 'int64' ? 2 ** 52 : 2 ** 31));
  });
  return fromTypedArray(values, sizes).to(dtype);
}

/** What a dtype's elements are, with the sign of zeros. */
function shown(x: Tensor): string[] {
  const values = x.contiguous().reshape([-1]).tolist() as number[];
  return values.map((value) => (Object.is(value, -0) ? '-0' : String(value)));
}

/** Sorts into results laid out as given, or contiguous, and compares with the reference kernel. */
function check(x: Tensor, at: number, largest: boolean, k = x.sizes[at]!, outs?: Tensor[]): void {
  const sizes = x.sizes.map((size, d) => (d === at ? k : size));
  const [values, indices] = outs ?? [
    empty(sizes, { dtype: x.dtype }),
    empty(sizes, { dtype: 'int64' }),
  ];
  expect(sortRows(x, at, largest, values!, indices!)).toBe(true);
  const sorted = x.sort(at, { descending: largest });
  expect(shown(indices!)).toEqual(shown(sorted[1].narrow(at, 0, k)));
  expect(shown(values!)).toEqual(shown(sorted[0].narrow(at, 0, k)));
}

describe.each(ALL)('%s', (dtype) => {
  // By insertion, by digits of 8 bits, by digits of 11.
  it.each([1, 2, 31, 65, 1000, 5000])('rows of %i elements', (length) => {
    const x = numbersOf(dtype, [3, length]);
    check(x, 1, false);
    check(x, 1, true);
  });

  it.each([1, 7, 12, 30, 100])('the first %i of many', (k) => {
    const x = numbersOf(dtype, [3, 2003]);
    check(x, 1, false, k);
    check(x, 1, true, k);
  });
});

it('sorts along any dimension, of any layout, into any', () => {
  const x = numbersOf('float32', [4, 9, 5, 3]);
  for (const at of [0, 1, 2, 3]) {
    check(x, at, false);
    check(x.permute([2, 0, 3, 1]), at, true, 2);
    check(x.narrow(1, 2, 4).narrow(3, 1, 2), at, false);
    check(x.narrow(1, 0, 1).expand([4, 6, 5, 3]), at, false);
    const outs = (['float32', 'int64'] as const).map((dtype) =>
      empty([3, 5, 9, 4], { dtype }).permute([3, 2, 1, 0]),
    );
    check(x, at, true, x.sizes[at], outs);
  }
});

it('finds the best where each element is better than those before, and where all are equal', () => {
  const rising = fromTypedArray(
    Float32Array.from({ length: 1000 }, (_, i) => i),
    [1, 1000],
  );
  const equal = rising.mul(0);
  const nans = equal.div(0);
  const infinite = equal.add(Infinity);
  const sparse = rising.where(rising.remainder(331).eq(3), infinite.neg());
  const mixed = rising.where(rising.remainder(300).ne(7), infinite.neg());
  for (const x of [
    rising,
    equal,
    nans,
    infinite,
    infinite.neg(),
    sparse,
    sparse.neg(),
    mixed,
    nans.where(rising.lt(990), mixed),
  ])
    for (const largest of [true, false]) check(x, 1, largest, 5);
});

it('keeps integers apart that doubles do not', () => {
  const exact = BigInt64Array.from([2n ** 60n + 1n, 2n ** 60n, -(2n ** 63n), 2n ** 63n - 1n, -1n]);
  const x = fromTypedArray(exact, [5]);
  check(x, 0, false);
  check(x, 0, true, 1);
});
