/**
 * @file An imported model compiles into one graph, at other sizes as well, and gradients reach its initialisers.
 */
import { compile, explain } from '@tessera/compile';
import { type Tensor, manualSeed, randn } from '@tessera/tensor';
import { beforeEach, expect, it } from 'vitest';
import { importOnnx } from '../src/index.js';
import { convolutional, transformer } from './support/models.js';

beforeEach(() => void manualSeed(0));

const models = [
  { title: 'a convolutional network', file: convolutional, shape: (n: number) => [n, 2, 4, 4] },
  { title: 'a transformer block', file: transformer, shape: (n: number) => [n, n + 3, 8] },
];

function values(tensor: Tensor): number[] {
  return (tensor.detach().reshape([-1]).toArray() as number[]).map((x) => Number(x.toFixed(4)));
}

it.each(models)('runs $title as one graph at several sizes', async ({ file, shape }) => {
  const model = await importOnnx(file());
  const fast = compile((x: Tensor) => model.call(x).y!, { fullgraph: true, dynamic: true });
  for (const n of [2, 3, 5]) {
    const x = randn(shape(n));
    expect(values(fast(x))).toEqual(values(model.call(x).y!));
  }
  const { graphCount, graphBreakCount } = explain((x: Tensor) => model.call(x).y!)(randn(shape(2)));
  expect([graphCount, graphBreakCount]).toEqual([1, 0]);
});

it.each(models)('gradients of $title agree with finite differences', async ({ file, shape }) => {
  const model = await importOnnx(file());
  const x = randn(shape(2));
  const loss = (): Tensor => model.call({ x }).y!.square().mean();
  loss().backward();
  expect(model.parameters().length).toBeGreaterThan(4);
  for (const [, parameter] of model.namedParameters()) {
    const at = parameter.detach().reshape([-1]).narrow(0, 0, 1);
    const before = at.item();
    const step = 1e-3;
    at.fill_(before + step);
    const above = loss().item();
    at.fill_(before - step);
    const below = loss().item();
    at.fill_(before);
    const own = (parameter.grad!.reshape([-1]).toArray() as number[])[0]!;
    expect(Math.abs(own - (above - below) / (2 * step))).toBeLessThan(2e-3 + 0.02 * Math.abs(own));
  }
});

it('names parameters and buffers as the file does', async () => {
  const model = await importOnnx(convolutional());
  expect(model.namedParameters().map(([name]) => name)).toEqual([
    'conv.weight',
    'conv.bias',
    'bn.weight',
    'bn.bias',
    'fc.weight',
    'fc.bias',
  ]);
  expect(Object.keys(model.stateDict()).sort()).toEqual(
    [
      'bn.bias',
      'bn.running_mean',
      'bn.running_var',
      'bn.weight',
      'conv.bias',
      'conv.weight',
      'fc.bias',
      'fc.weight',
      'rest',
      'zero',
    ].sort(),
  );
  expect(model.inputs).toEqual([{ name: 'x', dtype: 'float32', shape: ['N', 2, 4, 4] }]);
});
