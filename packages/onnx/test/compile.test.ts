/**
 * @file An imported model compiles into one graph, at other sizes as well, and gradients reach its initialisers.
 */
import { compile, explain } from '@tessera/compile';
import { type Tensor, manualSeed, randn, tensor } from '@tessera/tensor';
import { beforeEach, expect, it } from 'vitest';
import { importOnnx } from '../src/index.js';
import { type NodeSpec, ints, model as build, value } from './support/build-model.js';
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

it('slices "to the end", as PyTorch writes it, without a graph break', async () => {
  // The largest int64 and its negative: no float64 holds them.
  const ends = [2n ** 63n - 1n, -(2n ** 63n) + 1n].map((end) => {
    const proto = ints('', [1], [0]);
    proto.int64Data = [end];
    return proto;
  });
  const slice = (of: string, out: string, ...parts: string[]): NodeSpec => ({
    op: 'Slice',
    in: [of, ...parts],
    out: [out],
  });
  const model = await importOnnx(
    build({
      nodes: [
        { op: 'Constant', in: [], out: ['last'], attributes: { value: ends[0]! } },
        { op: 'Constant', in: [], out: ['first'], attributes: { value: ends[1]! } },
        { op: 'Relu', in: ['x'], out: ['r'] },
        slice('r', 'tail', 'one', 'last', 'axis'),
        slice('tail', 'reversed', 'minus', 'first', 'axis', 'minus'),
        // Of a shape, too.
        { op: 'Shape', in: ['reversed'], out: ['shape'] },
        slice('shape', 'width', 'one', 'last'),
        { op: 'Expand', in: ['reversed', 'width'], out: ['y'] },
      ],
      inputs: [value('x', ['n', 4])],
      outputs: [value('y', ['n', 3])],
      initializers: [ints('one', [1], [1]), ints('minus', [1], [-1]), ints('axis', [1], [1])],
    }),
  );
  const run = compile((x: Tensor) => model.call({ x }).y!, { fullgraph: true });
  expect(run(tensor([[1, 2, 3, -4]])).toArray()).toEqual([[0, 3, 2]]);
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
