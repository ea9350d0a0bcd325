/**
 * @file Programs that newcomers wrote: numbers that vary, equal modules, many sizes, calls that fit no trace.
 */
import { LayerNorm, Linear, Module, Parameter, functional as F } from '@tessera/nn';
import {
  type Tensor,
  cat,
  full,
  manualSeed,
  noGrad,
  ones,
  randn,
  tensor,
  where,
} from '@tessera/tensor';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { compile, compiledFunctionOf, isCompiling } from '../src/index.js';

afterEach(() => void vi.restoreAllMocks());

describe('a number that varies', () => {
  const ids = tensor([1, 2, 3]).to('int64');
  const programs: Record<string, (k: number) => Tensor> = {
    'times integers': (k) => ids.mul(k),
    'fills a tensor': (k) => full([2], k),
    'added to floats': (k) => ones([2]).add(k),
    'compared with integers': (k) => ids.gt(k),
    'chosen by a mask': (k) => where(ids.gt(1), ids, k),
  };
  const numbers = [0.5, 1.5, 3, 2 ** 53 - 1, 2.5, 7, -0, 0.25, 4, 0];

  it.each(Object.keys(programs))('%s keeps the dtype that eager gives', (name) => {
    const f = programs[name]!;
    const compiled = compile(f);
    for (const k of numbers) {
      const [want, got] = [f(k), compiled(k)];
      expect([k, got.dtype, String(got)]).toEqual([k, want.dtype, String(want)]);
    }
    // One for fractions, one for whole numbers, their beginnings, and the sign of zero.
    expect(compiledFunctionOf(compiled).captures.length).toBeLessThanOrEqual(5);
  });
});

describe('one compiled function over equal modules', () => {
  class Block extends Module {
    a: Linear = new Linear(8, 16);
    b: Linear = new Linear(16, 8);
    norm: LayerNorm = new LayerNorm(8);
    forward(x: Tensor): Tensor {
      return x.add(this.b.call(F.gelu(this.a.call(this.norm.call(x)))));
    }
  }
  class Raw extends Module {
    w: Parameter = new Parameter(randn([8, 8]));
    forward(x: Tensor): Tensor {
      return x.matmul(this.w).relu();
    }
  }

  it.each([
    ['modules of built-in layers', () => new Block()],
    ['modules with parameters of their own', () => new Raw()],
  ])('traces %s once', (_name, make: () => Block | Raw) => {
    manualSeed(0);
    const blocks = Array.from({ length: 12 }, make);
    const call = (block: Block | Raw, x: Tensor): Tensor => block.call(x);
    const f = compile(call);
    for (let round = 0; round < 2; round++) {
      for (const block of blocks) {
        const x = randn([4, 8]);
        const diff = f(block, x).sub(call(block, x)).abs().max().item() as number;
        expect(diff).toBeLessThan(1e-5);
      }
    }
    expect(compiledFunctionOf(f).captures).toHaveLength(1);
  });

  it('trains each through the trace of the first', () => {
    manualSeed(1);
    const blocks = Array.from({ length: 4 }, () => new Block());
    const step = (block: Block, x: Tensor): Tensor => {
      const loss = block.call(x).square().mean();
      loss.backward();
      return loss;
    };
    const f = compile(step);
    const x = randn([4, 8]);
    for (const block of blocks) {
      block.zeroGrad();
      f(block, x);
      const got = [...block.parameters()].map((p) => p.grad!.clone());
      block.zeroGrad();
      step(block, x);
      [...block.parameters()].forEach((p, i) =>
        expect(p.grad!.sub(got[i]!).abs().max().item()).toBeLessThan(1e-5),
      );
    }
    expect(compiledFunctionOf(f).captures).toHaveLength(1);
  });

  it('traces a module of other settings again', () => {
    const [one, two] = [new Block(), new Block()];
    two.norm = new LayerNorm(8, { eps: 0.5 });
    const f = compile((block: Block, x: Tensor) => block.call(x));
    const x = randn([4, 8]);
    for (const block of [one, two, one, two])
      expect(
        (f(block, x) as Tensor)
          .sub(block.call(x) as Tensor)
          .abs()
          .max()
          .item(),
      ).toBeLessThan(1e-5);
    expect(compiledFunctionOf(f).captures).toHaveLength(2);
    expect(compiledFunctionOf(f).reasons[0]).toMatch(/eps == /);
  });
});

describe('more sizes than code is kept for', () => {
  it('says so once and stays right; sizes do not drive each other out', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    let compiles = 0;
    const f = compile((x: Tensor) => x.mul(2).add(1).sum(), {
      backend: (module) => {
        compiles++;
        return (inputs) => module.forward(...inputs) as Tensor[];
      },
    });
    for (let i = 0; i < 600; i++) {
      const n = 2 + ((i * 37) % 60);
      expect(f(ones([n])).item()).toBe(3 * n);
    }
    expect(compiles).toBeLessThanOrEqual(34);
    expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('many sizes'));
  });

  it('lets a cache grow without code for every length', () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    let compiles = 0;
    const f = compile(
      (x: Tensor, cache: { keys: Tensor | null }) => {
        cache.keys = cache.keys === null ? x : cat([cache.keys, x], 0);
        return cache.keys.sum();
      },
      {
        backend: (module) => {
          compiles++;
          return (inputs) => module.forward(...inputs) as Tensor[];
        },
      },
    );
    const cache: { keys: Tensor | null } = { keys: null };
    noGrad(() => {
      for (let i = 1; i <= 150; i++) expect(f(ones([1, 2]), cache).item()).toBe(2 * i);
    });
    expect(compiles).toBeLessThanOrEqual(14);
  });
});

describe('a function beyond its recompile limit', () => {
  it('is tried less and less often, and is traced again where calls fit', () => {
    vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    let traced = 0;
    const f = compile(
      (x: Tensor, how: string) => {
        if (isCompiling()) traced++;
        return how.length % 2 === 0 ? x.mul(how.length) : x.add(how.length).relu();
      },
      { dynamic: false },
    );
    const words = Array.from({ length: 40 }, (_, i) => 'x'.repeat(i + 1));
    const x = ones([2]);
    const run = (word: string): void =>
      expect(f(x, word).toArray()).toEqual(
        word.length % 2 === 0 ? [word.length, word.length] : [1 + word.length, 1 + word.length],
      );
    const shapes = (i: number): Tensor => ones([i + 1, 2]);
    for (let i = 0; i < 20; i++) f(shapes(i), 'xx');
    traced = 0;
    for (let round = 0; round < 25; round++) words.forEach(run);
    expect(traced).toBeLessThan(20);
  });
});
