/**
 * @file Programs at sizes that no graph is made for: what they compute, and what it takes.
 *
 * `UNIFORM` operators are promised to do the same at all sizes. Every one of them stands in a program
 * (`proven-programs.ts`), which is compared with eager at many sizes, most of them met when samples tell enough.
 */
import { type GraphModule, isUniform } from '@tessera/graph';
import { Linear, ReLU, Sequential, functional as F, optim } from '@tessera/nn';
import { TesseraError, counters } from '@tessera/shared';
import {
  type OpOverload,
  type Tensor,
  arange,
  cat,
  manualSeed,
  randint,
  randn,
  zeros,
} from '@tessera/tensor';
import { allOps, readNumbers, trustedRegion } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { compile, compileFx, compileFxInner, config, observeCompilations } from '../src/index.js';
import { PROGRAMS } from './proven-programs.js';

const w = (...sizes: number[]): Tensor => randn(sizes);

/** Sizes in the order in which they come. */
const SIZES = [8, 5, 13, 4, 21, 2, 3, 16, 7, 64, 9, 12, 31, 6, 33];

const baseName = (op: OpOverload): string => op.qualifiedName.replace(/\..*/, '').replace(/_$/, '');

const met = new Set<OpOverload>();
const note = ({ graph }: GraphModule): void => {
  for (const { target } of graph.nodes)
    if (typeof target === 'object') met.add(target as OpOverload);
};

function expectEqual(got: readonly Tensor[], wanted: readonly Tensor[], at: string): void {
  expect(got.length).toBe(wanted.length);
  wanted.forEach((expected, i) => {
    expect(got[i]!.sizes, `${at}, result ${i}`).toEqual(expected.sizes);
    expect(got[i]!.strides, `${at}, result ${i}`).toEqual(expected.strides);
    const [a, b] = [got[i]!, expected].map((t) => Array.from(readNumbers(t)));
    const wrong = a!.findIndex((x, k) => !(Math.abs(x - b![k]!) <= 1e-4 + 1e-4 * Math.abs(b![k]!)));
    expect(wrong, `${at}, result ${i}: ${a![wrong]} for ${b![wrong]}`).toBe(-1);
  });
}

describe('at sizes that no graph is made for', () => {
  it.each(Object.entries(PROGRAMS))('%s are those of eager', (name, { inputs, fn, samples }) => {
    let graphs = 0;
    const made: number[] = [];
    const run = compile(fn, {
      backend: (module, examples, request) => {
        graphs++;
        note(module);
        return compileFx(module, examples, {
          request,
          innerCompile: (inner, values) => {
            note(inner);
            return compileFxInner(inner, values);
          },
        });
      },
    });
    for (const n of SIZES) {
      const [got, wanted] = [run, fn].map((program) => {
        manualSeed(n);
        return program(...inputs(n));
      });
      expectEqual(got!, wanted!, `${name} at ${n}`);
      made.push(graphs);
    }
    // The first, which is static; four that are samples.
    expect(made.at(-1), made.join()).toBeLessThanOrEqual(2 + (samples ?? 4));
  });

  it('every operator that is promised to be uniform is in one of the programs', () => {
    const names = new Set([...met].map(baseName));
    const missing = allOps().filter(
      (op) => isUniform(op) && !op.hasTag('pointwise') && !names.has(baseName(op)),
    );
    expect([...new Set(missing.map(baseName))]).toEqual([]);
  });
});

/** A program that was called at enough sizes to be known at others. */
function learned(
  fn: (...args: Tensor[]) => Tensor,
  inputs: (n: number) => Tensor[],
): (...args: Tensor[]) => Tensor {
  const run = compile(fn);
  for (const n of SIZES.slice(0, 8)) run(...inputs(n));
  return run;
}

/** What a program is refused with. */
function refusal(program: () => unknown): TesseraError | null {
  try {
    program();
    return null;
  } catch (error) {
    return error as TesseraError;
  }
}

describe('what samples do not tell of is asked of the operators', () => {
  const equal = (fn: (...args: Tensor[]) => Tensor, run: typeof fn, args: Tensor[]): void =>
    expectEqual([run(...args)], [fn(...args)], String(args.map(({ sizes }) => sizes.join('x'))));

  it('a slice that ends inside at other sizes', () => {
    const fn = (x: Tensor): Tensor => x.slice(0, 0, 70).mul(2);
    const run = learned(fn, (n) => [w(n, 3)]);
    for (const n of [69, 70, 71, 90, 11]) equal(fn, run, [w(n, 3)]);
  });

  it('a slice that begins before the tensor', () => {
    const fn = (x: Tensor): Tensor => x.slice(0, -5).mul(2);
    const run = learned(fn, (n) => [w(n + 5, 3)]);
    for (const n of [5, 4, 3, 2, 20]) equal(fn, run, [w(n, 3)]);
  });

  it('sizes that went together and do no more', () => {
    const fn = (x: Tensor, y: Tensor): Tensor => cat([x, y], 0).sum(1);
    const run = learned(fn, (n) => [w(n, 3), w(n, 3)]);
    for (const [a, b] of [
      [5, 9],
      [40, 41],
      [7, 7],
      [2, 3],
    ])
      equal(fn, run, [w(a!, 3), w(b!, 3)]);
    const sum = (x: Tensor, y: Tensor): Tensor => x.add(y);
    const added = learned(sum, (n) => [w(n), w(n)]);
    expect(() => added(w(40), w(41))).toThrow(/size|shape/);
    equal(sum, added, [w(40), w(40)]);
    equal(sum, added, [w(40), w(1)]);
  });

  it('a view of a size that no factor divides', () => {
    const fn = (x: Tensor): Tensor => x.reshape([-1, 4]).sum(0);
    const run = learned(fn, (n) => [w(4 * n)]);
    expect(() => run(w(41))).toThrow(/invalid for input of size/);
    equal(fn, run, [w(40)]);
  });

  it('what the rules of operators refuse at other sizes', () => {
    const refused = (
      fn: (...args: Tensor[]) => Tensor,
      inputs: (n: number) => Tensor[],
      args: Tensor[],
    ): void => {
      const run = learned(fn, inputs);
      const [wanted, got] = [fn, run].map((program) => refusal(() => program(...args)));
      expect(wanted).toBeInstanceOf(TesseraError);
      expect(got).toMatchObject({ code: wanted!.code, message: wanted!.message });
      equal(fn, run, inputs(40));
    };
    const zerosOf = (...sizes: number[]): Tensor =>
      w(...sizes)
        .mul(0)
        .to('int64');
    refused(
      (x, at) => x.gather(1, at),
      (n) => [w(n, 4), zerosOf(n, 2)],
      [w(40, 4), zerosOf(41, 2)],
    );
    refused(
      (x) => x.topk(4, { dim: 0 })[0],
      (n) => [w(n + 4, 3)],
      [w(3, 3)],
    );
    refused(
      (x) => x.unfold(0, 4, 1).sum(),
      (n) => [w(n + 4, 3)],
      [w(3, 3)],
    );
    refused(
      (x) => F.glu(x, 0),
      (n) => [w(2 * n, 3)],
      [w(41, 3)],
    );
    refused(
      (x) => F.pad(x, [3, 3], { mode: 'reflect' }),
      (n) => [w(2, n + 3)],
      [w(2, 3)],
    );
    refused(
      (x) => F.avgPool1d(x, 4),
      (n) => [w(2, 3, 4 * n)],
      [w(2, 3, 3)],
    );
    refused(
      (x) => x.view([-1, 3, 2]).sum(1),
      (n) => [w(3 * n, 2)],
      [w(41, 2)],
    );
  });

  it('sizes that are repeated as often as others are long, a product of four', () => {
    const cube = (x: Tensor): Tensor => x.reshape([-1]);
    const programs: ((x: Tensor) => Tensor)[] = [
      (x) => cube(x).repeat([x.sizes[0]!]).add(1),
      (x) => cube(x).tile([x.sizes[0]!]).add(1),
      (x) => cube(x).repeatInterleave(x.sizes[0]!).add(1),
    ];
    for (const fn of programs) {
      const run = compile(fn);
      for (const n of [3, 4, 5, 7, 6, 9, 8]) equal(fn, run, [w(n, n, n)]);
    }
  });

  it('one size that is told in two ways: of the input plus one, and of the gradient', () => {
    const fn = (x: Tensor): Tensor => {
      const y = cat([x, zeros([1])], 0);
      return F.layerNorm(y, [y.sizes[0]!]);
    };
    const run = compile(fn);
    for (const n of [9, 10, 12, 7, 16, 5, 20]) {
      const x = w(n);
      const [got, wanted] = [run, fn].map((program) => {
        const leaf = x.clone().requiresGrad_();
        const y = program(leaf);
        y.mul(y)
          .mul(arange(n + 1))
          .sum()
          .backward();
        return leaf.grad!;
      });
      expectEqual([got!], [wanted!], `gradient at ${n}`);
    }
  });

  it('layouts of another class', () => {
    const fn = (x: Tensor): Tensor => x.reshape([-1]).mul(2).add(x.sum());
    const run = learned(fn, (n) => [w(n, 6)]);
    equal(fn, run, [w(6, 44).t()]);
    equal(fn, run, [w(44, 12).slice(1, 0, 6)]);
    equal(fn, run, [w(46, 6).slice(0, 2)]);
    equal(fn, run, [w(44, 6)]);
  });

  it('sizes at which a copy would be a view, which is then written to', () => {
    const fn = (x: Tensor): Tensor => {
      const flat = x.slice(1, 0, 40).reshape([-1]);
      flat.add_(1);
      return x.sum(0).add(flat.sum());
    };
    const run = learned(fn, (n) => [w(3, n + 40)]);
    for (const n of [41, 90, 40]) {
      const [a, b] = [w(3, n)].flatMap((x) => [x, x.clone()]);
      expectEqual([run(a!), a!], [fn(b!), b!], `at ${n}`);
    }
  });

  it('few and small numbers', () => {
    const fn = (x: Tensor): Tensor => x.add(x.sum(0)).mul(2);
    const run = learned(fn, (n) => [w(n, 3)]);
    for (const n of [1, 0, 2]) equal(fn, run, [w(n, 3)]);
  });
});

/** A program that keeps a value besides its result from some call on, called at enough sizes before. */
function keeping(): { run: (x: Tensor) => Tensor; keep: () => void; kept: () => Tensor } {
  let kept: Tensor | null = null;
  let keeps = false;
  const run = learned(
    (x: Tensor): Tensor => {
      const y = x.mul(2).relu();
      if (keeps) kept = y;
      return y.sum(0);
    },
    (n) => [w(n, 3)],
  );
  return { run, keep: () => (keeps = true), kept: () => kept! };
}

it('a value that was kept at a size without a graph is an error once, and then returned', () => {
  const { run, keep, kept } = keeping();
  keep();
  run(w(40, 3));
  expect(() => kept().toArray()).toThrow('its sizes have no graph of their own');
  for (const n of [40, 41, 42]) {
    const y = w(n, 3);
    expectEqual([run(y), kept()], [y.mul(2).relu().sum(0), y.mul(2).relu()], `returned at ${n}`);
  }
});

it('needs no graph under options of the function either', () => {
  const run = compile((x: Tensor) => x.mul(2).sum(0), { options: { 'passes.lint': true } });
  for (const n of SIZES.slice(0, 8)) run(w(n, 3));
  const before = counters.get('inductor', 'graphs');
  const x = w(41, 3);
  expectEqual([run(x)], [x.mul(2).sum(0)], 'at 41');
  expect(counters.get('inductor', 'graphs')).toBe(before);
});

it('passes of the user see a graph for every size', () => {
  let seen = 0;
  config.patch({ postGradCustomPostPass: () => void seen++ }, () => {
    const run = compile((x: Tensor) => x.mul(2).sum(0));
    for (const n of SIZES) run(w(n, 3));
  });
  expect(seen).toBe(SIZES.length);
});

it('graphs that are recorded when no module runs any more name their inputs as the others do', () => {
  const model = new Sequential(new Linear(3, 4), new ReLU(), new Linear(4, 2));
  const optimizer = new optim.AdamW(model.parameters(), { lr: 0.01 });
  const names: string[] = [];
  const run = compile(
    (x: Tensor, labels: Tensor): Tensor => {
      optimizer.zeroGrad();
      const loss = F.crossEntropy(model.call(x), labels);
      loss.backward();
      optimizer.step();
      return loss.detach();
    },
    {
      backend: (module, examples, request) => {
        const inputs = module.graph.placeholders.map(({ name }) => name);
        // Each path numbers its scalars.
        names.push(inputs.filter((name) => !name.startsWith('scalar')).join());
        return compileFx(module, examples, { request });
      },
    },
  );
  // After a size of 1, which no template stands for, results are known before code is.
  const made = [53, 58, 1, 55, 12, 36, 14, 40, 18, 22].map((n) => {
    run(w(n, 3), randint(0, 2, [n]));
    return counters.get('inductor', 'templates');
  });
  expect(names[0]).toContain('g_Sequential');
  expect([...new Set(names)]).toHaveLength(1);
  // Code for all sizes was made once, for the first sizes.
  expect(made.at(-1)).toBe(made[4]);
});

it('makes code for all sizes with the second of them for a region that reads its inputs in another order', () => {
  class Scorer {
    forward(a: Tensor, b: Tensor): Tensor {
      return trustedRegion(this, 'forward', { a, b }, (given) => given.b.relu().mul(given.a).sum());
    }
  }
  const scorer = new Scorer();
  const own: boolean[] = [];
  const run = compile((a: Tensor, b: Tensor) => scorer.forward(a, b), { dynamic: true });
  const stop = observeCompilations((_graph, { isShared }) => own.push(!isShared));
  for (const n of [53, 58, 55, 12]) {
    const [a, b] = [w(n, 3), w(n, 3)];
    expectEqual([run(a, b)], [scorer.forward(a, b)], `${n} rows`);
  }
  stop();
  expect(own).toEqual([true, false, false, false]);
});

it('reference kernels find their buffers where scratch memory was packed for larger sizes', () => {
  const fn = (x: Tensor): Tensor => x.mul(2).add(x.mul(3).median()).sort(0)[0].mul(3).cumsum(0);
  const run = compile(fn);
  for (const n of [8, 5, 13, 4, 21, 600, 601, 3, 700, 2, 900, 33, 1200, 1100, 1000]) {
    const x = w(n, 3);
    expectEqual([run(x)], [fn(x)], `${n}`);
  }
});
