/**
 * @file Choices of cases are numbered, and there are only so many.
 */
import { expect, it } from 'vitest';
import { CaseNumbers } from '../src/dynamic/case-numbers.js';

it('numbers choices of cases, each once', () => {
  const numbers = new CaseNumbers();
  const [inside, whole] = [numbers.behind(0, 'inside'), numbers.behind(0, 'whole')];
  expect(new Set([0, inside, whole, numbers.behind(inside, 'whole')]).size).toBe(4);
  expect(numbers.behind(0, 'inside')).toBe(inside);
  expect([numbers.behind(inside, null), numbers.behind(-1, 'inside')]).toEqual([-1, -1]);
});

it('keeps no more than it has room for, and goes on knowing those', () => {
  const numbers = new CaseNumbers();
  const found = Array.from({ length: 10_000 }, (_, i) => numbers.behind(0, `case ${i}`));
  expect(found.filter((number) => number >= 0).length).toBe(4096);
  expect(numbers.behind(0, 'case 7')).toBe(found[7]);
});
