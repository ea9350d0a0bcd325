/** @file A maximum that is a result of its own keeps NaN, although the softmax beside it shares its loop. */
import { functional as F } from '@tessera/nn';
import { type Tensor, tensor, where } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

type Rows = (x: Tensor) => Tensor[];

const PROGRAMS: Readonly<Record<string, Rows>> = {
  'the maximum and a softmax': (x) => [x.amax(1), x.softmax(1)],
  'a kept dimension and a logarithm': (x) => [x.amax(1, { keepdim: true }), x.logSoftmax(1)],
  'the maximum and logsumexp': (x) => [x.amax(1), x.logsumexp(1)],
  'exponentials and their sum': (x) => {
    const e = x.sub(x.amax(1, { keepdim: true })).exp();
    return [e, e.sum(1)];
  },
  'a decision on the maximum': (x) => {
    const top = x.amax(1, { keepdim: true });
    return [where(top.lt(100), x.softmax(1), 7)];
  },
  'all elements': (x) => [x.max(), x.flatten().softmax(0)],
  'the other dimension': (x) => [x.amax(0), x.softmax(0)],
  'softmin and the least': (x) => [x.amin(1), F.softmin(x, 1)],
};

/** Rows of `width` numbers, `special` among them. */
function rows(width: number, special: readonly number[]): Tensor {
  const row = (seed: number): number[] =>
    Array.from({ length: width }, (_, i) => Math.sin(i * 3 + seed) * 2);
  const marked = row(1);
  special.forEach((value, i) => (marked[(i * 3 + 1) % width] = value));
  return tensor([row(0), marked, row(2)]);
}

describe.each(Object.entries(PROGRAMS))('%s', (_name, program) => {
  it.each([5, 16, 67, 2000])('is what operators alone give, for rows of %i', (width) => {
    const compiled = compile(program);
    for (const special of [
      [],
      [NaN],
      [Infinity],
      [NaN, Infinity],
      [Infinity, NaN],
      [-Infinity, NaN],
    ]) {
      const x = rows(width, special);
      program(x).forEach((expected, i) => {
        const wanted = expected.flatten().toArray() as number[];
        const actual = compiled(x)[i]!.flatten().toArray() as number[];
        wanted.forEach((value, at) => {
          if (Number.isFinite(value)) expect(actual[at]).toBeCloseTo(value, 4);
          else expect(actual[at], `${String(special)} at ${at}`).toBe(value);
        });
      });
    }
  });
});
