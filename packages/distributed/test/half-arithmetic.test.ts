/**
 * Reductions of 16-bit floats on the worker: every step rounds as the tensors do.
 */
import {
  bfloatToNumber,
  halfToNumber,
  numberToBfloat,
  numberToHalf,
} from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { combineHalves, divideHalves } from '../src/mpi/worker/half-arithmetic.js';

const TYPES = [
  { type: 'float16', value: halfToNumber, code: numberToHalf },
  { type: 'bfloat16', value: bfloatToNumber, code: numberToBfloat },
] as const;

/** All codes, paired with others that a permutation gives. */
const ALL = Uint16Array.from({ length: 65536 }, (_, i) => i);
const OTHERS = ALL.map((code) => (code * 40503 + 12345) & 0xffff);

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
  ] as const)('%s of all values is correctly rounded', (op, compute) => {
    const result = ALL.slice();
    combineHalves(type, op, OTHERS, result);
    same(result, (i) => Math.fround(compute(value(i), value(OTHERS[i]!))));
  });

  it('min and max choose one of the two', () => {
    for (const op of ['min', 'max'] as const) {
      const result = ALL.slice();
      combineHalves(type, op, OTHERS, result);
      for (let i = 0; i < ALL.length; i++) {
        const pair = [value(i), value(OTHERS[i]!)] as const;
        if (pair.some(Number.isNaN)) continue;
        expect(value(result[i]!) + 0).toBe(Math[op](...pair) + 0);
      }
    }
  });

  it('division by the number of ranks is correctly rounded', () => {
    const result = ALL.slice();
    divideHalves(type, result, 3);
    same(result, (i) => Math.fround(value(i) / 3));
  });
});
