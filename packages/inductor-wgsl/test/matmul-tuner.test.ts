/**
 * What a measurement of tiles says.
 */
import { expect, it } from 'vitest';
import { fastest, timeOfEach } from '../src/runtime/matmul-tuner.js';
import { tilesFor } from '@tessera/inductor-core';
import { BASELINE_TARGET } from '../src/index.js';

const [first, second, third] = tilesFor(BASELINE_TARGET);

it('keeps the tile that is taken anyway unless another is faster by more than measurements scatter', () => {
  const timings = [
    { tile: first, microseconds: 97 },
    { tile: second, microseconds: 100 },
    { tile: third, microseconds: 140 },
  ];
  expect(fastest(timings, second)).toBe(second);
  expect(fastest(timings, third)).toBe(first);
  expect(fastest(timings, first)).toBe(first);
});

it('takes the fastest where the tile that is taken anyway was not measured', () => {
  const timings = [{ tile: first, microseconds: 99 }];
  expect(fastest(timings, second)).toBe(first);
});

it('is not misled by a sample that something disturbed', () => {
  expect(timeOfEach([2, 40, 3], [12, 14, 60], 10)).toBe(1);
});
