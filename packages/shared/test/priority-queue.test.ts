import { expect, it } from 'vitest';
import { PriorityQueue } from '../src/index.js';
import { RandomSource, testSeed } from './random-source.js';

it('gives the first of what it holds, whatever the order it came in', () => {
  const random = new RandomSource(testSeed());
  const queue = new PriorityQueue<number>((a, b) => a < b);
  const held: number[] = [];
  const popBoth = (): void => {
    held.sort((a, b) => a - b);
    expect(queue.pop()).toBe(held.shift());
  };
  for (let i = 0; i < 2000; i++) {
    if (random.integer(0, 2) === 0) popBoth();
    else {
      const item = random.integer(0, 50);
      queue.push(item);
      held.push(item);
    }
  }
  expect(held.length).toBeGreaterThan(100);
  while (held.length > 0) popBoth();
  expect(queue.pop()).toBeUndefined();
});

it('gives all that it holds, and holds nothing then', () => {
  const queue = new PriorityQueue<number>((a, b) => a > b);
  for (const item of [2, 3, 1]) queue.push(item);
  expect(queue.drain().sort()).toEqual([1, 2, 3]);
  expect(queue.pop()).toBeUndefined();
});
