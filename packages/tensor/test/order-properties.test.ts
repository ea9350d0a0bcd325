/**
 * @file Operators of order against plain definitions: every dtype, NaN, signed zeros, infinities, ties, layouts, exact int64.
 */
import { describe, expect, it } from 'vitest';
import {
  type DType,
  type Tensor,
  bincount,
  empty,
  fromTypedArray,
  histc,
  rand,
  searchsorted,
  tensor,
  uniqueConsecutive,
} from '../src/index.js';

/** Numbers that repeat from run to run. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const SPECIAL = [Number.NaN, Infinity, -Infinity, 0, -0, 1.7976931348623157e308, 5e-324];
const DTYPES: readonly DType[] = [
  'float64',
  'float32',
  'float16',
  'bfloat16',
  'int64',
  'int32',
  'int16',
  'int8',
  'uint8',
  'bool',
];

/** Numbers of a dtype with many ties and, of floats, all that is special; others as far apart as can be. */
function numbersOf(dtype: DType, count: number, seed: number): Tensor {
  const random = randomNumbers(seed);
  const isFloat = dtype.includes('float');
  const values = Float64Array.from({ length: count }, () => {
    const kind = random();
    if (isFloat && kind < 0.2) return SPECIAL[Math.floor(random() * SPECIAL.length)]!;
    if (kind < 0.6) return Math.floor(random() * 9) - (dtype === 'uint8' ? 0 : 4);
    return isFloat
      ? (random() - 0.5) * 10 ** (random() * 9 - 4)
      : Math.floor((random() - 0.5) * 2 ** 33);
  });
  return fromTypedArray(values, [count]).to(dtype);
}

type Element = number | bigint | boolean;
const isNan = (a: Element): boolean => a !== a;
const compare = (a: Element, b: Element): number =>
  isNan(a) || isNan(b) ? Number(isNan(a)) - Number(isNan(b)) : a < b ? -1 : a > b ? 1 : 0;

/** Elements as they are, int64 as bigint. */
function elementsOf(x: Tensor): Element[] {
  return Array.from(x.toTypedArray() as ArrayLike<Element>);
}

/** Places of a row in order. */
function plainOrder(row: readonly Element[], descending = false): number[] {
  return row
    .map((_, i) => i)
    .sort((i, j) => (descending ? -1 : 1) * compare(row[i]!, row[j]!) || i - j);
}

/** The rows of a tensor along a dim, as lists. */
function rowsOf(x: Tensor, dim: number): Element[][] {
  const moved = x.transpose(dim, -1);
  const all = elementsOf(moved);
  const length = x.sizes[dim]!;
  return Array.from({ length: all.length / length }, (_, r) =>
    all.slice(r * length, (r + 1) * length),
  );
}

const numbers = (x: Tensor, dim: number): number[][] =>
  rowsOf(x, dim).map((row) => row.map(Number));

const layouts: readonly [string, (flat: Tensor) => Tensor][] = [
  ['rows', (x) => x.narrow(0, 0, 480).reshape([3, 160])],
  ['short rows', (x) => x.narrow(0, 0, 480).reshape([40, 12])],
  ['transposed', (x) => x.narrow(0, 0, 480).reshape([4, 120]).t()],
  ['every other', (x) => x.narrow(0, 0, 480).reshape([4, 60, 2]).select(2, 1)],
  ['expanded', (x) => x.narrow(0, 0, 90).reshape([90, 1]).expand([90, 3])],
  ['three dims', (x) => x.narrow(0, 0, 480).reshape([2, 80, 3])],
  ['0-d', (x) => x.select(0, 5)],
];

const inputs: readonly [string, (seed: number) => Tensor][] = [
  ...DTYPES.map((dtype): [string, (seed: number) => Tensor] => [
    dtype,
    (seed) => numbersOf(dtype, 500, seed),
  ]),
];

describe.each(inputs)('%s', (name, make) => {
  const cases = layouts.flatMap(([layout, view], i) => {
    const x = view(make(i + 1));
    return Array.from({ length: Math.max(x.ndim, 1) }, (_, dim) => ({ layout, x, dim }));
  });

  it('is sorted, equal elements in order', () => {
    for (const { x, dim } of cases)
      for (const descending of [false, true]) {
        const [values, indices] = x.sort(dim, { descending });
        const [v, r] = x.ndim === 0 ? [x.reshape([1]), values.reshape([1])] : [x, values];
        const places = numbers(x.ndim === 0 ? indices.reshape([1]) : indices, dim);
        const sorted = rowsOf(r, dim);
        rowsOf(v, dim).forEach((row, at) => {
          const expected = plainOrder(row, descending);
          expect(places[at]).toEqual(expected);
          expect(sorted[at]).toEqual(expected.map((from) => row[from]!));
        });
        expect(x.argsort(dim, { descending }).toArray()).toEqual(indices.toArray());
      }
  });

  it('has its best, its k-th and its median elements, but of bools', () => {
    if (name === 'bool') {
      for (const refused of [
        (x: Tensor) => x.topk(1),
        (x: Tensor) => x.kthvalue(1),
        (x: Tensor) => x.median(0),
      ])
        expect(() => refused(make(1))).toThrow(/not implemented for|topk/);
      return;
    }
    for (const { x, dim } of cases) {
      if (x.ndim === 0) continue;
      const length = x.sizes[dim]!;
      const rows = rowsOf(x, dim);
      const orders = rows.map((row) => [plainOrder(row), plainOrder(row, true)] as const);
      for (const k of [0, 1, Math.min(3, length), length >> 1, length])
        for (const largest of [true, false]) {
          const [values, indices] = x.topk(k, { dim, largest });
          if (k === 0) {
            expect(values.sizes[dim]).toBe(0);
            continue;
          }
          const expected = orders.map((each) => each[Number(largest)]!.slice(0, k));
          expect(numbers(indices, dim)).toEqual(expected);
          expect(rowsOf(values, dim)).toEqual(expected.map((at, r) => at.map((i) => rows[r]![i]!)));
        }
      for (const k of [1, Math.ceil(length / 3), length]) {
        const [values, indices] = x.kthvalue(k, { dim, keepdim: true });
        rowsOf(values, dim).forEach(([value], r) => {
          expect(compare(value!, rows[r]![orders[r]![0][k - 1]!]!)).toBe(0);
          // -0 is not 0 where it is read.
          expect(rows[r]![numbers(indices, dim)[r]![0]!]).toBe(value);
        });
      }
      for (const skipNan of [false, true]) {
        const [values, indices] = skipNan
          ? x.nanmedian(dim, { keepdim: true })
          : x.median(dim, { keepdim: true });
        const expected = rows.map((row, r) => {
          const nans = row.filter(isNan).length;
          if (nans > 0 && !skipNan) return row.findIndex(isNan);
          return orders[r]![0][Math.max(0, (row.length - nans - 1) >> 1)]!;
        });
        expect(numbers(indices, dim)).toEqual(expected.map((at) => [at]));
        expect(rowsOf(values, dim)).toEqual(expected.map((at, r) => [rows[r]![at]!]));
      }
    }
  });

  it('has modes and distinct elements', () => {
    for (const { x, dim } of cases) {
      if (x.ndim === 0) continue;
      const [values, indices] = x.mode(dim, { keepdim: true });
      rowsOf(x, dim).forEach((row, r) => {
        const counts = row.map((a) => (isNan(a) ? 1 : row.filter((b) => b === a).length));
        const most = Math.max(...counts);
        const order = plainOrder(row);
        const first = order.find((at) => counts[at] === most)!;
        const expected = isNan(row[first]!)
          ? first
          : row.findLastIndex((value) => value === row[first]);
        expect(numbers(indices, dim)[r]).toEqual([expected]);
        expect(rowsOf(values, dim)[r]).toEqual([row[expected]]);
      });
    }
    const x = make(99);
    const [distinct, inverse, counts] = x.unique({ returnInverse: true, returnCounts: true });
    const row = elementsOf(x);
    const sorted = plainOrder(row).map((at) => row[at]!);
    const expected = sorted.filter((value, i) => i === 0 || value !== sorted[i - 1]);
    const found = elementsOf(distinct);
    expect(found.map((value, i) => compare(value, expected[i]!))).toEqual(expected.map(() => 0));
    const groups = elementsOf(inverse).map(Number);
    expect(row.map((value, i) => compare(found[groups[i]!]!, value))).toEqual(row.map(() => 0));
    expect(elementsOf(counts).map(Number)).toEqual(
      expected.map((_, g) => groups.filter((group) => group === g).length),
    );
    const runs = elementsOf(uniqueConsecutive(x));
    expect(runs).toEqual(row.filter((value, i) => i === 0 || value !== row[i - 1]));
  });

  it('is searched for in sorted rows, from both sides', () => {
    // In rows with NaN, which is not smaller than anything, what is found depends on where the search looks.
    const any = make(7).narrow(0, 0, 300).reshape([3, 100]);
    const x = name.includes('float') ? any.maskedFill(any.isnan(), 2) : any;
    const sorted = x.sort(1)[0];
    const rows = rowsOf(x, 1);
    const wanted = make(8).narrow(0, 0, 120).reshape([3, 40]);
    const sorter = x.argsort(1);
    for (const right of [false, true]) {
      const expected = rowsOf(wanted, 1).map((row, r) =>
        row.map((value) =>
          isNan(value)
            ? 100
            : rows[r]!.filter((each) => compare(each, value) < Number(right)).length,
        ),
      );
      expect(numbers(searchsorted(x, wanted, { right, sorter }), 1)).toEqual(expected);
      expect(numbers(searchsorted(sorted, wanted, { right }), 1)).toEqual(expected);
    }
  });
});

it('sorts float64 that float32 does not tell apart, and long rows of it', () => {
  const random = randomNumbers(3);
  const values = Float64Array.from(
    { length: 5000 },
    () => 1 + Math.floor(random() * 999) * 2 ** -50,
  );
  values[17] = Number.NaN;
  const [sorted, indices] = fromTypedArray(values, [5000]).sort();
  const expected = plainOrder([...values]);
  expect(elementsOf(indices).map(Number)).toEqual(expected);
  expect(elementsOf(sorted)).toEqual(expected.map((at) => values[at]!));
});

it('orders nothing', () => {
  expect(empty([3, 0]).sort(1)[0].sizes).toEqual([3, 0]);
  expect(empty([0, 3]).sort(1)[1].sizes).toEqual([0, 3]);
  expect(empty([0, 3]).topk(2)[0].sizes).toEqual([0, 2]);
  expect(empty([0, 3]).median(1)[0].sizes).toEqual([0]);
  expect(empty([0]).unique().sizes).toEqual([0]);
  expect(searchsorted(empty([0]), tensor([1, 2])).toArray()).toEqual([0, 0]);
  expect(searchsorted(tensor([1, 2]), empty([0])).sizes).toEqual([0]);
});

it('keeps the layout of what it sorts', () => {
  const x = numbersOf('float32', 480, 4).reshape([4, 120]).t();
  const [values] = x.sort(0);
  expect(values.strides).toEqual(x.strides);
});

it('counts in bins', () => {
  const x = tensor([-1, 0, 0.1, 0.5, 0.99, 1, 1.01, Number.NaN]);
  expect(histc(x, { bins: 2, min: 0, max: 1 }).toArray()).toEqual([2, 3]);
  expect(() => histc(x)).toThrow('not finite');
  expect(histc(tensor([3, 1, 2]), { bins: 2 }).toArray()).toEqual([1, 2]);
  const [hist] = x.histogram(tensor([0, 0.5, 1]), { weight: tensor([9, 1, 1, 2, 2, 2, 9, 9]) });
  expect(hist.toArray()).toEqual([2, 6]);
  expect(bincount(tensor([1, 3, 1], { dtype: 'int64' }), { minlength: 5 }).toArray()).toEqual([
    0, 2, 0, 1, 0,
  ]);
});

it('draws categories without weight last, in every row', () => {
  const rows = 3;
  const weights = rand([rows, 100]).mul(tensor([0, 1, 1, 1, 0]).repeat([20]));
  const drawn = numbers(weights.multinomial(100), 1);
  const kept = rowsOf(weights, 1).map((row) => row.filter((weight) => weight !== 0).length);
  drawn.forEach((row, r) => {
    expect([...row].sort((a, b) => a - b)).toEqual(row.map((_, i) => i));
    const last = row.slice(kept[r]);
    expect(last).toEqual(row.map((_, i) => i).filter((i) => i % 5 === 0 || i % 5 === 4));
  });
});
