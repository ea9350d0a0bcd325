/**
 * @file Programs whose `backward()` runs outside of them, at sizes that no graph is made for.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, embedding, grad, manualSeed, randint, randn } from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { compile, compileFx } from '../src/index.js';

/** Sizes in the order in which they come. */
const SIZES = [8, 5, 13, 4, 21, 2, 3, 16, 7, 64, 9, 1, 12, 31, 0, 6, 33];

const w = (...sizes: number[]): Tensor => randn(sizes);
const leaf = (...sizes: number[]): Tensor => randn(sizes).requiresGrad_();

/** A program, and how its gradients come about; without that, of the sum of its first result. */
interface Program {
  readonly inputs: (n: number) => readonly Tensor[];
  readonly fn: (...inputs: Tensor[]) => Tensor | readonly Tensor[];
  readonly backward?: (results: readonly Tensor[]) => void;
  /** Graphs that are made of all sizes together; without it, those of the first sizes. */
  readonly graphs?: number;
}

const PROGRAMS: Readonly<Record<string, Program>> = {
  'a loss': {
    inputs: (n) => [w(n, 6), leaf(6, 5), leaf(5), w(n, 5)],
    fn: (x, a, b, y) => F.mseLoss(F.gelu(x.matmul(a).add(b)), y),
  },
  'a result of the size that varies': {
    inputs: (n) => [leaf(n, 6), leaf(6)],
    fn: (x, a) => F.layerNorm(x, [6], { weight: a }).exp(),
    backward: ([y]) => y!.square().sum().backward(),
  },
  'a gradient that is no dense tensor': {
    inputs: (n) => [leaf(n, 6)],
    fn: (x) => x.tanh().mul(x),
    backward: ([y]) => y!.mean().backward(),
  },
  'a gradient in another layout': {
    inputs: (n) => [leaf(n, 6)],
    fn: (x) => x.tanh().mul(2),
    backward: ([y]) => y!.backward(y!.detach().t().contiguous().t()),
  },
  'results without gradients beside one with': {
    inputs: (n) => [w(n, 3), leaf(3, 4)],
    fn: (x, a) => [x.matmul(a).relu(), x.sum(0), x.gt(0)],
  },
  'a lookup and attention': {
    inputs: (n) => [leaf(7, 8), randint(0, 7, [2, n])],
    fn: (table, at) => {
      const x = embedding(table, at).unsqueeze(1);
      return F.scaledDotProductAttention(x, x.mul(0.5), x, { isCausal: true }).square().mean();
    },
  },
  'gradients that are kept for a second pass': {
    inputs: (n) => [leaf(n, 3)],
    fn: (x) => x.sigmoid().mul(x),
    backward: ([y]) => {
      y!.sum().backward(null, { retainGraph: true });
      y!.square().sum().backward();
    },
  },
  'several results with gradients': {
    inputs: (n) => [leaf(n, 3), leaf(3)],
    fn: (x, a) => [x.mul(a).exp(), x.sum(1).tanh()],
    backward: (results) => {
      const some = results[0]!.sizes[0]! % 2 === 0 ? results : results.slice(0, 1);
      for (const y of some) y.sum().backward(null, { retainGraph: true });
    },
  },
  'gradients of other results at each size': {
    inputs: (n) => [leaf(n, 4), leaf(4, 3), leaf(3)],
    fn: (x, a, b) => {
      const y = x.matmul(a);
      return [y.add(b).relu(), y.square().mean(), x.slice(0, 1).exp(), b.mul(x.sum())];
    },
    backward: (results) => {
      const n = results[0]!.sizes[0]!;
      const some = results.filter((_, i) => ((n >> i) & 1) === 1);
      if (some.length > 0)
        some
          .map((y) => y.square().sum())
          .reduce((sum, y) => sum.add(y))
          .backward();
    },
    graphs: 7,
  },
  'gradients that name sizes which no input has': {
    inputs: (n) => [leaf(n, 3)],
    fn: (x) => [x.mul(2).mean(), x.slice(0, 0, 2).sum(1), x.sum().expand([3])],
    backward: (results) => results.forEach((y) => y.sum().backward(null, { retainGraph: true })),
  },
  'a gradient of several times the size': {
    inputs: (n) => [leaf(3, n)],
    fn: (x) => {
      const n = x.sizes[1]!;
      const wide = x.unsqueeze(2).expand([3, n, 8]).reshape([3, n, 2, 4]);
      return wide.transpose(1, 2).reshape([3, 2, -1]).contiguous().add(1);
    },
  },
};

function numbers(tensor: Tensor | null): number[] | null {
  return tensor === null ? null : Array.from(readNumbers(tensor), Number);
}

function expectNear(got: number[] | null, wanted: number[] | null, at: string): void {
  expect(got?.length, at).toBe(wanted?.length);
  const wrong = (wanted ?? []).findIndex(
    (x, i) => !Object.is(x, got![i]!) && !(Math.abs(x - got![i]!) <= 1e-4 + 1e-4 * Math.abs(x)),
  );
  expect(wrong, `${at}: ${got?.[wrong]} for ${wanted?.[wrong]}`).toBe(-1);
}

describe('a backward outside of the program', () => {
  it.each(Object.entries(PROGRAMS))('is that of eager: %s', (name, program) => {
    const { inputs, fn, graphs = 6 } = program;
    const backward = program.backward ?? (([y]) => y!.sum().backward());
    let made = 0;
    const run = compile(fn, {
      backend: (module, examples, request) => {
        made++;
        return compileFx(module, examples, { request });
      },
    });
    const small = SIZES.filter((n) => n < 2).length;
    for (const n of SIZES) {
      const [got, wanted] = [run, fn].map((step) => {
        manualSeed(n);
        const args = inputs(n);
        const results = [step(...args)].flat() as Tensor[];
        backward(results);
        return [...results, ...args.map((x) => x.grad)].map(numbers);
      });
      wanted!.forEach((values, i) => expectNear(got![i]!, values, `${name} at ${n}, ${i}`));
    }
    // The first, which is static; four that are samples; sizes that are cases of their own.
    expect(made).toBeLessThanOrEqual(graphs + small);
  });

  it('refuses values that were written to since, as at other sizes', () => {
    const fn = (x: Tensor, a: Tensor): Tensor => x.mul(a).exp();
    const run = compile(fn);
    const a = leaf(3);
    for (const n of SIZES.slice(0, 10)) run(w(n, 3), a).sum().backward();
    for (const step of [run, fn]) {
      const x = w(40, 3);
      const y = step(x, a);
      x.add_(1);
      expect(() => y.sum().backward()).toThrow(/modified by an inplace operation/);
    }
  });

  it('runs once, unless it is told to keep its graph', () => {
    const run = compile((x: Tensor) => x.exp());
    for (const n of SIZES.slice(0, 10)) run(leaf(n, 3)).sum().backward();
    const y = run(leaf(40, 3)).sum();
    y.backward();
    expect(() => y.backward()).toThrow(/second time/);
  });

  it('makes no graph for a further size, whether or not somebody asks for gradients', () => {
    let made = 0;
    const run = compile((x: Tensor, a: Tensor) => x.matmul(a).relu(), {
      backend: (module, examples, request) => {
        made++;
        return compileFx(module, examples, { request });
      },
    });
    const a = leaf(3, 4);
    for (const n of SIZES.slice(0, 8)) run(w(n, 3), a);
    const before = made;
    expect(before).toBeLessThanOrEqual(5);
    const x = w(61, 3);
    const [y, z] = [run(x, a), x.matmul(a).relu()];
    expectNear(numbers(y), numbers(z), 'at 61');
    const [g, wanted] = [y, z].map((result) => grad(result.square().sum(), [a]) as Tensor[]);
    expectNear(numbers(g![0]!), numbers(wanted![0]!), 'gradient at 61');
    for (let n = 40; n < 48; n++) run(w(n, 3), a).sum().backward();
    for (let n = 50; n < 60; n++) run(w(n, 3), a);
    expect(made).toBe(before);
  });
});
