/**
 * @file State that a program makes in its first compiled call and keeps to itself, as optimizers of one's own do.
 */
import { Linear, ReLU, Sequential, functional as F } from '@tessera/nn';
import {
  type Tensor,
  manualSeed,
  noGrad,
  ones,
  pow,
  randn,
  zeros,
  zerosLike,
} from '@tessera/tensor';
import { readNumbers } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { compile, explain } from '../src/index.js';

type State = Record<string, Tensor>;

/** What an optimizer does with a parameter, its state and its gradient. */
const updates: Readonly<Record<string, (p: Tensor, s: State, g: Tensor) => void>> = {
  lion: (p, s, g) => {
    s.m ??= zerosLike(p);
    p.add_(s.m.mul(0.9).add(g, { alpha: 0.1 }).sign(), { alpha: -1e-3 });
    s.m.mul_(0.99).add_(g, { alpha: 0.01 });
  },
  adam: (p, s, g) => {
    s.t ??= zeros([]);
    s.m ??= zerosLike(p);
    s.v ??= zerosLike(p);
    s.t.add_(1);
    s.m.mul_(0.9).add_(g, { alpha: 0.1 });
    s.v.mul_(0.99).addcmul_(g, g, { value: 0.01 });
    const corrected = s.m.div(pow(0.9, s.t).neg().add(1));
    p.addcdiv_(corrected, s.v.sqrt().add_(1e-8), { value: -1e-3 });
  },
  'sgd with momentum': (p, s, g) => {
    if (s.b === undefined) s.b = g.clone().detach();
    else s.b.mul_(0.9).add_(g);
    p.add_(s.b, { alpha: -1e-2 });
  },
  'averaged weights': (p, s, g) => {
    s.e ??= p.detach().clone();
    p.add_(g, { alpha: -1e-2 });
    s.e.lerp_(p, 0.1);
  },
};

/** A model, its state, and a step of training that makes the state when there is none. */
function training(update: (p: Tensor, s: State, g: Tensor) => void): {
  readonly values: () => Tensor[];
  readonly step: (x: Tensor, y: Tensor) => Tensor;
} {
  manualSeed(0);
  const model = new Sequential(new Linear(4, 8), new ReLU(), new Linear(8, 3));
  const parameters = [...model.parameters()];
  const states = new Map<Tensor, State>();
  const step = (x: Tensor, y: Tensor): Tensor => {
    for (const p of parameters) p.grad = null;
    const loss = F.mseLoss(model.call(x), y);
    loss.backward();
    noGrad(() => {
      for (const p of parameters) {
        let state = states.get(p);
        if (state === undefined) states.set(p, (state = {}));
        update(p, state, p.grad!);
      }
    });
    return loss;
  };
  const values = (): Tensor[] => [
    ...parameters,
    ...[...states.values()].flatMap((state) => Object.values(state)),
  ];
  return { step, values };
}

it.each(Object.entries(updates))('%s goes on with what its first call made', (_, update) => {
  const eager = training(update);
  const compiled = training(update);
  const step = compile(compiled.step);
  for (let i = 0; i < 8; i++) {
    manualSeed(i);
    const [x, y] = [randn([8, 4]), randn([8, 3])];
    expect(step(x, y).item()).toBeCloseTo(eager.step(x, y).item() as number, 5);
  }
  const [got, wanted] = [compiled, eager].map(({ values }) =>
    values().flatMap((value) => [...readNumbers(value)].map(Number)),
  );
  expect(got!.length).toBe(wanted!.length);
  for (const [i, value] of wanted!.entries()) expect(got![i]).toBeCloseTo(value, 5);
});

describe('values that are no state', () => {
  /** How many results the first graph has. */
  const results = (fn: (x: Tensor, w: Tensor) => Tensor): number => {
    const [x, w] = [randn([4, 4]), randn([4, 4]).requiresGrad_()];
    const { code } = explain(fn)(x, w).graphs[0]!;
    return /return \[(.*)\]/.exec(code)![1]!.split(',').length;
  };

  it('are told from an explicit copy, which is kept from the first call on', () => {
    expect(results((x) => x.mul(2).clone().sum())).toBe(2);
  });

  it.each<[string, (x: Tensor, w: Tensor) => Tensor]>([
    ['contiguous', (x) => x.mul(2).t().contiguous().sum()],
    ['reshape', (x) => x.mul(2).t().reshape([16]).sum()],
    ['a copy with gradients', (_, w) => w.mul(2).clone().sum()],
    ['what is filled and written with gradients', (x, w) => zerosLike(x).add_(w).sum()],
    ['what is filled only', (x) => zerosLike(x).add(x).sum()],
  ])('%s', (_, fn) => {
    expect(results(fn)).toBe(1);
  });
});

describe('state that every call replaces, of memory that it writes', () => {
  type Options = { captures?: () => Record<string, unknown> };
  const descent = (compiled: boolean, named: boolean): (() => number) => {
    const place = ones([3]);
    let velocity = zeros([3]);
    let gains = ones([3]);
    const fn = (momentum: number): Tensor => {
      const g = place.mul(2);
      gains = gains.add(0.2).clamp(0.01, 2);
      velocity = velocity.mul(momentum).sub(g.mul(gains).mul(0.1));
      place.add_(velocity);
      return place.sum();
    };
    const options: Options = named ? { captures: () => ({ velocity, gains }) } : {};
    const step = compiled ? compile(fn, options) : fn;
    return () => step(0.5).item() as number;
  };

  it('is kept from the first call on where `captures` names the variables', () => {
    const [eager, compiled] = [descent(false, false), descent(true, true)];
    for (let i = 0; i < 5; i++) expect(compiled()).toBeCloseTo(eager(), 5);
  });

  it('is an error that says so where nothing does', () => {
    const compiled = descent(true, false);
    compiled();
    expect(compiled).toThrow(/captures: \(\) => \(\{ state \}\)/);
  });
});
