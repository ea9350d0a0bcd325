/**
 * Padding of tensors without elements: all results are the value that is padded with, and no load happens.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, zeros } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { compile } from '../src/index.js';

it.each<[number[], number[], unknown]>([
  [[0], [1, 1], [2, 2]],
  [
    [2, 0],
    [1, 2],
    [
      [2, 2, 2],
      [2, 2, 2],
    ],
  ],
  [[0, 2], [0, 0, 1, 0], [[2, 2]]],
])('of shape %j by %j', (shape, by, wanted) => {
  const padded = (x: Tensor): Tensor => F.pad(x, by, { value: 2 });
  const summed = (x: Tensor): Tensor => F.pad(x.add(1), by, { value: 2 });
  for (const fn of [padded, summed])
    for (const run of [fn, compile(fn), compile(fn, { dynamic: true })])
      expect(run(zeros(shape)).toArray()).toEqual(wanted);
});
