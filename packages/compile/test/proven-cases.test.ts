/**
 * @file Programs whose operators do something else at some sizes, at sizes that no graph is made for.
 */
import { type Tensor, cat, manualSeed, randn } from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { compile, compileFx } from '../src/index.js';

/** Sizes on both sides of 16, and 16, in orders in which each side is learnt first. */
const ORDERS = [
  [8, 5, 13, 4, 2, 3, 7, 9, 21, 16, 40, 64, 12, 31, 33, 17, 20, 6, 1, 25, 16, 40, 10, 64],
  [20, 40, 17, 64, 21, 33, 16, 31, 5, 2, 8, 13, 4, 3, 0, 7, 9, 50, 12, 16, 15, 40],
  [16, 13, 40, 12, 32, 4, 6, 33, 8, 0, 9, 1, 5, 31, 17, 20, 7, 16, 2, 64, 3, 13, 40],
];

interface Program {
  readonly fn: (x: Tensor) => readonly Tensor[];
  /** Graphs that each order may take. */
  readonly graphs?: number;
}

const PROGRAMS: Readonly<Record<string, Program>> = {
  'a slice that ends inside or at the end': {
    fn: (x) => {
      const y = x.slice(1, 0, 16).mul(2);
      return [y.mul(y).sum(0), y.mul(y)];
    },
    graphs: 14,
  },
  'slices counted from the end': {
    fn: (x) => [x.slice(1, -16).mul(2), x.slice(1, 0, -16).add(1), x.slice(1, -20, -4).exp()],
    graphs: 22,
  },
  'a slice that is a result': { fn: (x) => [x.slice(1, 0, 16), x.slice(1, 4, 100)], graphs: 18 },
  'a slice that is written to': {
    fn: (x) => {
      const y = x.clone();
      y.slice(1, 0, 16).mul_(3);
      return [y, y.slice(1, 8, 24).sum(1)];
    },
  },
  'joined slices': { fn: (x) => [cat([x.slice(1, 0, 16), x.slice(1, 8, 20).neg()], 1).square()] },
  'the least of a size and a number': {
    fn: (x) => [x.narrow(1, 0, Math.min(x.sizes[1]!, 16)).sum(1)],
  },
  'a remainder': {
    fn: (x) => {
      const rest = x.sizes[1]! % 15;
      return [x.narrow(1, 0, rest).sum(1), x.slice(1, rest).mul(2)];
    },
  },
  'parts of a number of columns': { fn: (x) => x.split(16, 1).map((part) => part.mean(1)) },
};

const isNear = (a: number, b: number): boolean =>
  Object.is(a, b) || Math.abs(a - b) <= 1e-3 + 1e-3 * Math.abs(a);

const numbers = (tensor: Tensor | null): number[] | null =>
  tensor === null ? null : Array.from(readNumbers(tensor), Number);

function gradients(results: readonly Tensor[]): void {
  results.reduce((sum, y) => sum.add(y.square().sum()), results[0]!.sum()).backward();
}

interface Way {
  readonly of: (fn: Program['fn']) => Program['fn'];
  readonly orders: typeof ORDERS;
}

const WAYS: Readonly<Record<string, Way>> = {
  'without gradients': { of: (fn) => (x) => fn(x.detach()), orders: ORDERS },
  'with gradients inside': {
    of: (fn) => (x) => {
      const results = fn(x);
      gradients(results);
      return results.map((y) => y.detach());
    },
    orders: ORDERS.slice(2),
  },
};

describe.each(Object.entries(WAYS))('operators in several cases, %s', (way, { of, orders }) => {
  it.each(Object.entries(PROGRAMS))('do as in eager: %s', (name, { fn, graphs = Infinity }) => {
    for (const sizes of orders) {
      let made = 0;
      const run = compile(of(fn), {
        backend: (module, examples, request) => {
          made++;
          return compileFx(module, examples, { request });
        },
      });
      for (const n of sizes) {
        const [got, wanted] = [run, of(fn)].map((step) => {
          manualSeed(n);
          const x = randn([3, n]).requiresGrad_();
          const results = step(x);
          return [...results, x.grad].map((y) => [y?.sizes, numbers(y)] as const);
        });
        wanted!.forEach(([shape, values], i) => {
          const at = `${name}, ${way}, ${sizes.join()} at ${n}, ${i}`;
          expect(got![i]![0], at).toEqual(shape);
          const wrong = values?.findIndex((value, k) => !isNear(value, got![i]![1]![k]!)) ?? -1;
          expect(wrong, at).toBe(-1);
        });
      }
      expect(made, sizes.join()).toBeLessThanOrEqual(graphs);
    }
  });
});
