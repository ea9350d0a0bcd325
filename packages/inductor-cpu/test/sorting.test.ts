/**
 * @file Sorting by WebAssembly against the reference kernels: every dtype, NaN, signed zeros, ties, layouts, all ways to sort.
 */
import { type Tensor, empty, fromTypedArray } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { selectAlong, sortRows } from '../src/sorting/run-rows.js';
import { MEDIAN, NANMEDIAN } from '../src/sorting/select-rows.js';
import { ALL, numbersOf, shown } from './numbers-of.js';

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

describe('elements of a rank', () => {
  /** Selects into results that have lost the dimension or not, and compares with the reference kernel. */
  function checkRank(x: Tensor, at: number, rank: number): void {
    for (const keepdim of [false, true]) {
      const wanted =
        rank === MEDIAN
          ? x.median(at, { keepdim })
          : rank === NANMEDIAN
            ? x.nanmedian(at, { keepdim })
            : x.kthvalue(rank + 1, { dim: at, keepdim });
      const values = empty(wanted[0].sizes, { dtype: x.dtype });
      const indices = empty(wanted[0].sizes, { dtype: 'int64' });
      expect(selectAlong(x, at, rank, values, indices)).toBe(true);
      expect(shown(indices)).toEqual(shown(wanted[1]));
      expect(shown(values)).toEqual(shown(wanted[0]));
    }
  }

  it.each(ALL.filter((dtype) => dtype !== 'bool'))('%s', (dtype) => {
    for (const length of [1, 2, 3, 4, 7, 64, 301, 2000])
      for (const special of [0, 0.1, 0.4]) {
        const x = numbersOf(dtype, [5, length], length, special);
        for (const rank of [MEDIAN, NANMEDIAN, 0, length >> 1, length - 1]) checkRank(x, 1, rank);
      }
  });

  it('of rows of NaN alone, of equal ones, of rising and of falling ones', () => {
    const rising = Float32Array.from({ length: 999 }, (_, i) => i);
    for (const row of [rising.map(() => NaN), rising.map(() => 3), rising, rising.toReversed()])
      for (const rank of [MEDIAN, NANMEDIAN, 0, 500, 998])
        checkRank(fromTypedArray(row, [1, 999]), 1, rank);
  });

  it('along any dimension, of any layout', () => {
    const x = numbersOf('float32', [4, 9, 5, 3]);
    for (const at of [0, 1, 2, 3])
      for (const y of [x, x.permute([2, 0, 3, 1]), x.narrow(1, 2, 4).narrow(3, 1, 2)])
        for (const rank of [MEDIAN, 1]) checkRank(y, at, rank);
    checkRank(x.narrow(1, 0, 1).expand([4, 6, 5, 3]), 1, MEDIAN);
  });
});
