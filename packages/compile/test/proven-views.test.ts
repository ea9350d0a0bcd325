/**
 * @file Programs whose results are views, at sizes that no graph is made for.
 */
import { type Tensor, manualSeed, noGrad, randn } from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { compile, compileFx } from '../src/index.js';

/** Sizes in the order in which they come. */
const SIZES = [8, 5, 13, 4, 21, 2, 3, 16, 7, 64, 9, 1, 12, 71, 31, 0, 6, 33];

const w = (...sizes: number[]): Tensor => randn(sizes);
const leaf = (...sizes: number[]): Tensor => randn(sizes).requiresGrad_();

interface Program {
  readonly inputs: (n: number) => readonly Tensor[];
  readonly fn: (...inputs: Tensor[]) => readonly Tensor[];
  /** Sizes that are a case of their own, besides 0 and 1. */
  readonly others?: readonly number[];
}

const PROGRAMS: Readonly<Record<string, Program>> = {
  'a value and views of it': {
    inputs: (n) => [w(n + 1, 8)],
    fn: (x) => {
      const y = x.mul(2);
      return [y, y.t(), y.select(0, -1), y.slice(1, 2, 6), y.unsqueeze(1).expand([-1, 3, -1])];
    },
  },
  'the last step': {
    inputs: (n) => [w(2, n + 1, 4)],
    fn: (x) => [x.tanh().select(1, -1), x.exp().slice(1, -1)],
  },
  parts: {
    inputs: (n) => [w(n, 12), w(n + 4)],
    fn: (x, y) => [
      ...x.add(1).chunk(3, 1),
      ...x.exp().split([4, 8], 1),
      ...x.neg().unbind(1),
      y.mul(2).narrow(0, 2, x.sizes[0]!),
    ],
  },
  'views that name the size': {
    inputs: (n) => [w(n, 6)],
    fn: (x) => {
      const n = x.sizes[0]!;
      const y = x.mul(3);
      return [y, y.view([2 * n, 3]), y.view([n, 2, 3]).transpose(0, 1), y.slice(0, 1, n)];
    },
  },
  'a slice that ends inside at some sizes': {
    inputs: (n) => [w(n, 3)],
    fn: (x) => {
      const y = x.mul(2);
      return [y, y.slice(0, 0, 20)];
    },
    // A slice that ends at the end is another case than one that ends inside.
    others: [64, 71, 21, 31, 33],
  },
  'views of inputs': {
    inputs: (n) => [w(n, 6), w(6, n).t()],
    fn: (x, y) => [x.t(), x.view([-1, 3]), y.slice(1, 1, 4), x.add(y)],
  },
  'views of an input that is written to': {
    inputs: (n) => [w(n, 6)],
    fn: (x) => {
      x.mul_(2);
      return [x.t(), x.select(1, 2), x.sum(0)];
    },
  },
  'views with gradients': {
    inputs: (n) => [leaf(n, 4)],
    fn: (x) => [x.exp().reshape([-1, 2, 2]).select(1, -1)],
  },
};

const numbers = (tensor: Tensor | null): number[] | null =>
  tensor === null ? null : Array.from(readNumbers(tensor), Number);

/** For each of the tensors, the first one that it shares memory with. */
const sharing = (tensors: readonly Tensor[]): number[] =>
  tensors.map(({ storage }) => tensors.findIndex((other) => other.storage === storage));

describe('results that are views', () => {
  it.each(Object.entries(PROGRAMS))(
    'are those of eager: %s',
    (name, { inputs, fn, others = [] }) => {
      let made = 0;
      const run = compile(fn, {
        backend: (module, examples, request) => {
          made++;
          return compileFx(module, examples, { request });
        },
      });
      for (const n of SIZES) {
        const [got, wanted] = [run, fn].map((step) => {
          manualSeed(n);
          const args = inputs(n);
          const results = step(...args);
          const [first] = results;
          if (first!.requiresGrad) first!.square().sum().backward();
          const layouts = results.map(({ sizes, strides }) => ({ sizes, strides }));
          const shared = sharing([...args, ...results]);
          // What is written to a result shows in what it is a view of.
          if (!first!.requiresGrad && first!.numel > 0) noGrad(() => first!.add_(1));
          const values = [...results, ...args, ...args.map((x) => x.grad)].map(numbers);
          return { layouts, shared, values };
        });
        expect(got!.layouts, `${name} at ${n}`).toEqual(wanted!.layouts);
        expect(got!.shared, `${name} at ${n}`).toEqual(wanted!.shared);
        wanted!.values.forEach((values, i) => {
          const found = got!.values[i]!;
          expect(found?.length).toBe(values?.length);
          const wrong = (values ?? []).findIndex((x, k) => !(Math.abs(x - found![k]!) <= 1e-4));
          expect(wrong, `${name} at ${n}, ${i}: ${found?.[wrong]} for ${values?.[wrong]}`).toBe(-1);
        });
      }
      // The first, which is static; four that are samples; sizes that are cases of their own.
      const cases = SIZES.filter((n) => n < 2 || others.includes(n)).length;
      expect(made).toBeLessThanOrEqual(6 + cases);
    },
  );
});
