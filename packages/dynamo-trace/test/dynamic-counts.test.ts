/**
 * @file Captures made over sequences of sizes, beside the graphs that torch.compile (2.13, with a backend
 * that counts) made for the same programs: never more, but where a number that equals a size is not taken
 * for it before a second call has shown that it is.
 */
import { type Tensor, add, arange, mul } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { type AnyFunction } from '../src/index.js';
import { compileEager } from './compile-for-test.js';

type Counts = readonly number[];

interface Sequence {
  readonly name: string;
  readonly fn: AnyFunction;
  readonly calls: readonly (readonly (Tensor | number)[])[];
  /** Graphs that PyTorch made up to each call, with `dynamic` undefined and true. */
  readonly torch: readonly [automatic: Counts, dynamic: Counts];
  /** Captures made here, where that is another number. */
  readonly ours?: readonly [automatic: Counts, dynamic: Counts];
}

function numbers(...sizes: number[]): Tensor {
  return arange(
    sizes.reduce((a, b) => a * b, 1),
    { dtype: 'float32' },
  )
    .view(sizes)
    .sub(1);
}

const rows = (counts: Counts): Tensor[][] => counts.map((n) => [numbers(n)]);
const tables = (counts: Counts): Tensor[][] => counts.map((n) => [numbers(n, 3)]);

const SEQUENCES: readonly Sequence[] = [
  {
    name: 'sizes 4, 5, 6, 1, 0, 7',
    fn: (x: Tensor) => mul(x, 2),
    calls: tables([4, 5, 6, 1, 0, 7]),
    torch: [
      [1, 2, 2, 3, 4, 4],
      [1, 1, 1, 2, 3, 3],
    ],
  },
  {
    name: 'two inputs, equal and then not',
    fn: (x: Tensor, y: Tensor) => add(mul(x, 2).sum(), mul(y, 3).sum()),
    calls: [
      [numbers(4), numbers(4)],
      [numbers(5), numbers(5)],
      [numbers(6), numbers(7)],
      [numbers(8), numbers(9)],
      [numbers(3), numbers(3)],
    ],
    torch: [
      [1, 2, 2, 2, 2],
      [1, 1, 2, 2, 2],
    ],
  },
  {
    name: 'a size as a factor',
    fn: (x: Tensor) => mul(x, x.shape[0]!),
    calls: rows([4, 5, 6, 7, 8]),
    torch: [
      [1, 2, 2, 2, 2],
      [1, 1, 1, 1, 1],
    ],
    ours: [
      [1, 2, 2, 2, 2],
      [1, 2, 2, 2, 2],
    ],
  },
  {
    name: 'a loop over a size',
    fn: (x: Tensor) => {
      let y = x;
      for (let i = 0; i < x.shape[0]!; i++) y = add(y, i);
      return y;
    },
    calls: rows([4, 5, 6, 7, 5]),
    torch: [
      [1, 2, 3, 4, 4],
      [1, 2, 3, 4, 4],
    ],
  },
  {
    name: 'a branch on a size',
    fn: (x: Tensor) => (x.shape[0]! > 5 ? mul(x, 2) : add(x, 1)),
    calls: rows([4, 5, 6, 7, 3, 9]),
    torch: [
      [1, 2, 3, 3, 3, 3],
      [1, 1, 2, 2, 2, 2],
    ],
  },
  {
    name: 'a transposed input',
    fn: (x: Tensor) => add(x, 1),
    calls: [4, 5, 6, 7].map((n) => [numbers(n, 3).t()]),
    torch: [
      [1, 2, 2, 2],
      [1, 1, 1, 1],
    ],
  },
  {
    name: 'another layout',
    fn: (x: Tensor) => add(x, 1),
    calls: [[numbers(4, 3)], [numbers(5, 3)], [numbers(3, 6).t()], [numbers(3, 7).t()]],
    torch: [
      [1, 2, 3, 3],
      [1, 1, 2, 2],
    ],
  },
  {
    name: 'a view by a product',
    fn: (x: Tensor) => x.view([x.shape[0]! * 3]),
    calls: tables([4, 5, 6, 7]),
    torch: [
      [1, 2, 2, 2],
      [1, 1, 1, 1],
    ],
  },
  {
    name: 'rows with gaps',
    fn: (x: Tensor) => add(x, 1),
    calls: [4, 5, 6, 7].map((n) => [numbers(n, 6).narrow(1, 0, 3)]),
    torch: [
      [1, 2, 2, 2],
      [1, 1, 1, 1],
    ],
  },
  {
    name: 'a broadcast operand that grows',
    fn: (x: Tensor, y: Tensor) => add(x, y),
    calls: [
      [numbers(4), numbers(1)],
      [numbers(5), numbers(1)],
      [numbers(5), numbers(5)],
      [numbers(6), numbers(6)],
    ],
    torch: [
      [1, 2, 3, 3],
      [1, 1, 2, 2],
    ],
  },
  {
    name: 'as many results as values are positive',
    fn: (x: Tensor) => x.maskedSelect(x.gt(0)).sum(),
    calls: rows([4, 5, 6]),
    torch: [
      [2, 4, 4],
      [2, 2, 2],
    ],
    ours: [
      [1, 2, 2],
      [1, 1, 1],
    ],
  },
  {
    name: 'an integer argument',
    fn: (x: Tensor, n: number) => mul(x.narrow(0, 0, n), 2),
    calls: [3, 4, 5].map((n) => [numbers(9), n]),
    torch: [
      [1, 2, 2],
      [1, 1, 1],
    ],
    ours: [
      [1, 2, 2],
      [1, 2, 2],
    ],
  },
];

describe.each([undefined, true])('captures with dynamic: %s', (dynamic) => {
  it.each(SEQUENCES)('$name', ({ fn, calls, torch, ours }) => {
    const { call, function: compiled } = compileEager(fn, { dynamic });
    const counts = calls.map((args) => {
      expect((call(...args) as Tensor).toArray()).toEqual((fn(...args) as Tensor).toArray());
      return compiled.captures.length;
    });
    expect(counts).toEqual((ours ?? torch)[dynamic === true ? 1 : 0]);
  });
});
