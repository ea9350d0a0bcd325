/**
 * @file Orthogonal parametrizations against what PyTorch computed (data/reference-orthogonal.py), eager and compiled,
 * in training, assigned, loaded, removed; mistakes.
 */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import {
  type Tensor,
  eye,
  isTensor,
  manualSeed,
  ones,
  randn,
  tensor,
  zeros,
} from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { Conv2d, Linear, Module, Parameter, init, optim, parametrize } from '../src/index.js';
import { compileForTest } from './compile-for-test.js';
import { type Recorded, expectRecorded, restore } from './reference.js';

const { orthogonal, removeParametrizations } = parametrize;

interface Case {
  readonly map: parametrize.OrthogonalMap | null;
  readonly trivialization: boolean;
  readonly start: Recorded;
  readonly original: Recorded;
  readonly first: Recorded;
  readonly state: Readonly<Record<string, Recorded>>;
  readonly weight: Recorded;
  readonly cotangent: Recorded;
  readonly grad: Recorded;
}

const { cases } = JSON.parse(
  gunzipSync(
    readFileSync(new URL('./data/reference-orthogonal.json.gz', import.meta.url)),
  ).toString(),
) as { cases: Case[] };

class Holder extends Module {
  weight: Parameter;

  constructor(value: Tensor) {
    super();
    this.weight = new Parameter(value);
  }

  override forward(): Tensor {
    return this.weight.mul(1);
  }
}

function made({ start, map, trivialization }: Case): Holder {
  return orthogonal(new Holder(restore(start)), {
    orthogonalMap: map,
    useTrivialization: trivialization,
  });
}

/** How far the columns, or rows if these are fewer, are from orthonormal. */
function error(weight: Tensor): number {
  const x = weight.size(-2) < weight.size(-1) ? weight.mT : weight;
  const gram = x.mT.matmul(x).detach();
  return gram
    .sub(eye(x.size(-1), x.size(-1), { dtype: x.dtype }))
    .abs()
    .max()
    .item();
}

const free = 'parametrizations.weight.original';

describe('orthogonal', () => {
  it.each(cases)('as PyTorch: $map, trivialization $trivialization, $start.shape', (entry) => {
    const module = made(entry);
    expectRecorded(module.getParameter(free), entry.original, 'original', 1e-12, 1e-12);
    expectRecorded(module.weight.detach(), entry.first, 'first', 1e-9, 1e-9);
    expect(Object.keys(module.stateDict())).toEqual(Object.keys(entry.state));
    module.loadStateDict(
      Object.fromEntries(
        Object.entries(entry.state).map(([name, value]) => [name, restore(value)]),
      ),
    );
    const compiled = compileForTest(() => module.call());
    for (const run of [() => module.call(), () => compiled.call()]) {
      const weight = run();
      expectRecorded(weight.detach(), entry.weight, 'weight', 1e-9, 1e-9);
      module.zeroGrad();
      weight.backward(restore(entry.cotangent));
      expectRecorded(module.getParameter(free).grad!, entry.grad, 'gradient', 1e-9, 1e-9);
    }
  });

  it.each(['matrix_exp', 'cayley', 'householder'] as const)(
    'stays orthogonal in training, compiled: %s',
    (orthogonalMap) => {
      manualSeed(3);
      const layer = orthogonal(new Linear(4, 6), { orthogonalMap });
      const optimizer = new optim.Adam(layer.parameters(), { lr: 0.1 });
      const step = compileForTest((x: Tensor, y: Tensor) => {
        optimizer.zeroGrad();
        const loss = layer.call(x).sub(y).square().mean();
        loss.backward();
        optimizer.step();
        return loss;
      }).call;
      const [x, y] = [randn([8, 4]), randn([8, 6])];
      const losses = Array.from({ length: 20 }, () => step(x, y).item());
      expect(losses[19]).toBeLessThan(0.9 * losses[0]!);
      expect(error(layer.weight)).toBeLessThan(1e-5);
    },
  );

  it('is assigned, and keeps what is orthogonal', () => {
    for (const useTrivialization of [true, false]) {
      const layer = orthogonal(new Linear(5, 3), {
        useTrivialization,
        orthogonalMap: 'householder',
      });
      const goal = init.orthogonal_(zeros([3, 5]));
      layer.weight = goal as Parameter;
      expect(layer.weight.sub(goal).abs().max().item()).toBeLessThan(1e-6);
    }
    const square = orthogonal(new Linear(3, 3));
    const base = square.getBuffer('parametrizations.weight.0.base');
    square.weight = eye(3) as Parameter;
    expect(square.weight.toArray()).toEqual(eye(3).toArray());
    expect(square.getBuffer('parametrizations.weight.0.base')).toBe(base);
    square.weight = tensor([
      [2, 1, 0],
      [0, 3, 1],
      [0, 0, 4],
    ]) as never;
    expect(square.weight.sub(eye(3)).abs().max().item()).toBeLessThan(1e-6);
  });

  it('of a batch of matrices, and removed', () => {
    const conv = orthogonal(new Conv2d(2, 3, [4, 2]));
    expect(error(conv.weight)).toBeLessThan(1e-6);
    const value = conv.weight.detach();
    removeParametrizations(conv, 'weight');
    expect(conv.weight.toArray()).toEqual(value.toArray());
    expect(isTensor(conv.getParameter('weight'))).toBe(true);
  });

  it.each<[string, () => unknown, string]>([
    [
      'no such tensor',
      () => orthogonal(new Linear(2, 2), { name: 'w' }),
      "no parameter or buffer with name 'w'",
    ],
    [
      'a vector',
      () => orthogonal(new Linear(2, 2), { name: 'bias' }),
      'Got a tensor of 1 dimensions',
    ],
    ['16 bits', () => orthogonal(new Linear(2, 2).to('float16')), 'Unsupported dtype float16'],
    [
      'an unknown map',
      () => orthogonal(new Linear(2, 2), { orthogonalMap: 'qr' as never }),
      'has to be one of "matrix_exp", "cayley", "householder". Got: qr',
    ],
    ['an unknown option', () => orthogonal(new Linear(2, 2), { map: 'cayley' } as never), 'map'],
    [
      'assigning another shape',
      () => (orthogonal(new Linear(2, 2)).weight = ones([2, 3]) as never),
      'of shape [2, 2]. Got a tensor of shape [2, 3]',
    ],
    [
      'assigning what cannot be',
      () => (orthogonal(new Linear(2, 2), { useTrivialization: false }).weight = eye(2) as never),
      'has no rightInverse',
    ],
  ])('refuses %s', (_name, call, message) => {
    expect(call).toThrow(message);
  });
});
