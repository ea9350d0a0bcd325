/** @file Shifts of whole numbers by counts that differ from element to element, against the interpreter. */
import { interpretKernel } from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { pointwise } from './support-kernels.js';

const COUNTS = [-(2 ** 31), -33, -32, -1, ...Array.from({ length: 70 }, (_, i) => i), 2 ** 31 - 1];
const VALUES = [
  0,
  1,
  -1,
  2,
  -2,
  5,
  -77,
  255,
  2 ** 30,
  -(2 ** 30),
  2 ** 31 - 1,
  -(2 ** 31),
  123456789,
];

describe('shifts by counts of their own', () => {
  it.each([
    ['shl', 'int32'],
    ['shr', 'int32'],
    ['shl', 'int64'],
    ['shr', 'int64'],
  ] as const)('%s of %s', (name, dtype) => {
    const pairs = VALUES.flatMap((value) => COUNTS.map((count) => [value, count] as const));
    const [values, counts] = [0, 1].map((k) => pairs.map((pair) => pair[k]));
    const { kernel, run } = pointwise(pairs.length, [dtype, dtype], dtype, (ir, [a, b]) =>
      ir.op(name, [a, b]),
    );
    const expected = new Map([
      ['in0', [...values]],
      ['in1', [...counts]],
      ['out', values.map(() => 0)],
    ]);
    interpretKernel(kernel, expected);
    const got = run(values, counts);
    pairs.forEach(([value, count], i) => {
      expect(got[i], `${name}(${value}, ${count})`).toBe(expected.get('out')![i]);
    });
  });
});
