/**
 * Reductions of 16-bit floats on the worker: every step rounds as the tensors do.
 */
import { type DType, itemSize } from '@tessera/tensor';
import {
  bfloatToNumber,
  halfToNumber,
  numberToBfloat,
  numberToHalf,
} from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { combineHalves, divideHalves } from '../src/mpi/worker/half-arithmetic.js';
import { ITEM_BYTES } from '../src/mpi/worker/reductions.js';

const TYPES = [
  { type: 'float16', value: halfToNumber, code: numberToHalf },
  { type: 'bfloat16', value: bfloatToNumber, code: numberToBfloat },
] as const;

/** All codes many times, paired with others that permutations give. */
const PERMUTATIONS = [1, 40503, 3, 25173, 65535, 12289, 48271, 3533];
const ALL = Uint16Array.from({ length: 65536 * PERMUTATIONS.length }, (_, i) => i);
const OTHERS = ALL.map((code, i) => code * PERMUTATIONS[i >> 16]! + 12345 * (i >> 16));

describe.each(TYPES)('$type', ({ type, value, code }) => {
  const same = (found: Uint16Array, expected: (i: number) => number): void => {
    const wrong = [...found].findIndex((got, i) => {
      const want = expected(i);
      return !(Number.isNaN(want) ? Number.isNaN(value(got)) : got === code(want));
    });
    expect(wrong < 0 ? null : [wrong, value(found[wrong]!), expected(wrong)]).toBe(null);
  };

  it.each([
    ['sum', (a: number, b: number) => a + b],
    ['product', (a: number, b: number) => a * b],
    ['min', (a: number, b: number) => Math.min(a, b)],
    ['max', (a: number, b: number) => Math.max(a, b)],
  ] as const)('%s of all values is correctly rounded, NaN where one of them is', (op, compute) => {
    const result = ALL.slice();
    combineHalves(type, op, OTHERS, result);
    same(result, (i) => Math.fround(compute(value(ALL[i]!), value(OTHERS[i]!))));
  });

  it.each([3, 1024])('division by %i is correctly rounded', (ranks) => {
    const result = ALL.slice(0, 65536);
    divideHalves(type, result, ranks);
    same(result, (i) => Math.fround(value(i) / ranks));
  });

  it('arrays of any length and place, and nothing beside them', () => {
    for (const length of [0, 1, 7, 8, 9, 2047, 2048, 2049, 5000]) {
      const memory = ALL.slice(0, length + 2).fill(code(1));
      combineHalves(
        type,
        'sum',
        ALL.subarray(3, 3 + length)
          .slice()
          .fill(code(2)),
        memory.subarray(1, 1 + length),
      );
      divideHalves(type, memory.subarray(1, 1 + length), 2);
      const expected = new Uint16Array(length + 2).fill(code(1.5));
      expected[0] = expected[length + 1] = code(1);
      expect(memory).toEqual(expected);
    }
  });
});

it('bytes of elements are those of tensors', () => {
  expect(ITEM_BYTES).toEqual(
    Object.fromEntries(Object.keys(ITEM_BYTES).map((dtype) => [dtype, itemSize(dtype as DType)])),
  );
});
