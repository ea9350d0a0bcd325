/**
 * @file Random programs that compute with sizes, at several sizes: eager, compiled in every dynamic mode
 * and backend, pure, exported and traced with symbolic sizes. A failure prints the seed of its program;
 * `TESSERA_SIZE_FUZZ=seed:count` runs others.
 */
import { makeFx } from '@tessera/graph';
import {
  type Tensor,
  arange,
  cat,
  matmul,
  ones,
  pad,
  softmax,
  stack,
  zeros,
} from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { compile, exportGraph, reset } from '../src/index.js';
import { agree, dice, outcome } from './size-fuzz.js';

type Step = (t: Tensor, x: Tensor) => Tensor;

const half = (n: number): number => Math.floor(n / 2);

/** One step that uses sizes, with its random numbers fixed. */
function step(roll: (sides: number) => number): { text: string; run: Step } {
  const k = roll(6) + 2;
  const d = roll(2);
  const dim = (t: Tensor): number => (t.ndim === 0 ? 0 : d % t.ndim);
  const size = (t: Tensor): number => (t.ndim === 0 ? 1 : t.shape[dim(t)]!);
  const steps: Record<string, Step> = {
    relu: (t) => t.sub(k / 4).relu(),
    'scale by a size': (t, x) => t.mul(x.shape[0]!).div(x.numel),
    'mean of a dim': (t) => t.sub(t.mean(dim(t), { keepdim: true })),
    'sum of a dim': (t) => t.sum(dim(t)),
    softmax: (t) => softmax(t, dim(t)),
    cumsum: (t) => t.cumsum(dim(t)).div(size(t)),
    flatten: (t) => t.reshape([-1]),
    'view by a product': (t) => t.reshape([t.numel]),
    'split a dim': (t) => t.reshape([-1, k % 3 === 0 ? 1 : 2]),
    'swap dims': (t) => t.transpose(0, -1),
    contiguous: (t) => t.transpose(0, -1).contiguous(),
    'without the first': (t) => t.narrow(dim(t), 1, size(t) - 1),
    'first half': (t) => t.narrow(dim(t), 0, half(size(t))),
    'an even part': (t) => t.narrow(dim(t), 0, size(t) - (size(t) % 2)),
    'at most k': (t) => t.narrow(dim(t), 0, Math.min(size(t), k)),
    double: (t) => cat([t, t.neg()], dim(t)),
    pile: (t) => stack([t, t.mul(2)], dim(t)).sum(0),
    'add positions': (t) => t.add(arange(t.shape.at(-1) ?? 1).mul(0.1)),
    'append zeros': (t) =>
      cat([t, zeros(t.shape.map((n, i) => (i === dim(t) ? half(n) + 1 : n)))], dim(t)),
    'add a column': (t) => t.add(ones([size(t)]).sum()),
    square: (t) => (t.ndim === 2 ? matmul(t, t.t()).div(t.shape[1]!) : t.mul(t).mul(0.1)),
    expand: (t) =>
      t
        .unsqueeze(0)
        .expand([k, ...t.shape])
        .mean(0),
    pad: (t) => (t.ndim === 0 ? t : pad(t, [1, k % 3])),
    unbind: (t) => (t.ndim === 0 ? t : t.unbind(0).reduce((a, b) => a.mul(0.5).add(b))),
    'branch on a size': (t) => (size(t) > k ? t.mul(2) : t.add(1)),
    'branch on one size': (t) => (size(t) === k ? t.mul(3) : t.sub(1)),
    'loop to a size': (t) => {
      let y = t;
      for (let i = 0; i < Math.min(size(t), 4); i++) y = y.add(i);
      return y;
    },
    'in place': (t) => t.mul(1).add_(size(t)),
    'read a value': (t) => (k === 7 ? t.add(Math.round(t.sum().item() as number) % 3) : t.neg()),
    constant: (t) => t.mul(4).add(k),
  };
  const names = Object.keys(steps);
  const text = names[roll(names.length)]!;
  return { text: `${text} (k ${k}, dim ${d})`, run: steps[text]! };
}

interface Program {
  readonly text: string;
  readonly sizes: readonly (readonly [number, number])[];
  run(x: Tensor, y: Tensor): Tensor;
}

function program(seed: number): Program {
  const roll = dice(seed);
  const steps = Array.from({ length: 2 + roll(5) }, () => step(roll));
  const merge = roll(2) === 0;
  const sizes = Array.from({ length: 6 }, (): [number, number] => [2 + roll(9), 2 + roll(7)]);
  if (roll(2) === 0) sizes[4] = [roll(2), 3];
  return {
    text: steps.map(({ text }) => text).join(', '),
    sizes,
    run: (x, y) => {
      const t = steps.reduce((value, { run }) => run(value, x), x);
      return merge ? t.add(y.sum()).mul(y.shape[0]!) : t;
    },
  };
}

function inputs([a, b]: readonly [number, number]): [Tensor, Tensor] {
  const values = arange(a * b, { dtype: 'float32' })
    .mul(0.37)
    .sin();
  return [values.view([a, b]), values.narrow(0, 0, a).add(0.5)];
}

const GUARDS = ['export-guard', 'symbolic-guard'];

/** Everything that differs from eager. */
function differences(seed: number): string[] {
  const { text, sizes, run } = program(seed);
  const wants = sizes.map((size) => outcome(() => run(...inputs(size))));
  const found: string[] = [];
  const compare = (how: string, call: (x: Tensor, y: Tensor) => Tensor, guarded: boolean): void => {
    sizes.forEach((size, i) => {
      const got = outcome(() => call(...inputs(size)));
      if (agree(wants[i]!, got) || (guarded && GUARDS.includes(String(got)))) return;
      const shown = [wants[i], got].map((side) => JSON.stringify(side).slice(0, 160));
      found.push(`seed ${seed} ${how} at ${size.join('x')}: ${shown.join(' but ')}; ${text}`);
    });
  };
  for (const backend of ['eager', 'aot_eager', 'inductor'])
    for (const dynamic of [undefined, true])
      compare(`${backend} dynamic ${dynamic}`, compile(run, { backend, dynamic }), false);
  const breaks = text.includes('read a value (k 7');
  const example = sizes.findIndex((_, i) => typeof wants[i] !== 'string');
  if (breaks || example < 0) return found;
  compare('pure', compile(run, { backend: 'inductor', pure: true, dynamic: true }), false);
  const args = inputs(sizes[example]!);
  const exported = exportGraph(run, args, { dynamic: true });
  compare('exported', exported.call as typeof run, true);
  const traced = makeFx(run, { tracingMode: 'symbolic' })(...args);
  compare('makeFx', (x, y) => traced.forward(x, y) as Tensor, true);
  reset();
  return found;
}

const [given, count] = (process.env.TESSERA_SIZE_FUZZ ?? '').split(':');
const first = given === undefined || given === '' ? (Date.now() % 1e6) * 1000 : Number(given);

describe('random programs of sizes', () => {
  it(`agree with eager at every size (seeds from ${first})`, () => {
    const found = Array.from({ length: Number(count ?? 3) }, (_, i) =>
      differences(first + i),
    ).flat();
    expect(found).toEqual([]);
  }, 600_000);
});
