/**
 * @file Statistics of batch norms that an exporter has merged with weights of equal values are buffers of their own.
 */
import { randn, manualSeed, type Tensor } from '@tessera/tensor';
import { beforeEach, expect, it } from 'vitest';
import { importOnnx } from '../src/index.js';
import { type NodeSpec, floats, graph, ints, model, value } from './support/build-model.js';

beforeEach(() => void manualSeed(0));

const norm = (inputs: string[], out: string): NodeSpec => ({
  op: 'BatchNormalization',
  in: inputs,
  out: [out],
});

const bytes = (nodes: NodeSpec[]): Uint8Array =>
  model({
    inputs: [value('x', ['N', 3])],
    outputs: [value('y', ['N', 3])],
    initializers: [floats('bn.weight', [3], [1, 1, 1]), floats('bn.bias', [3], [0, 0, 0])],
    nodes,
  });

/** As PyTorch writes a batch norm that was never trained, and as other tools write the same. */
const FILES: Record<string, { nodes: NodeSpec[]; buffers: string[] }> = {
  'through Identity nodes': {
    nodes: [
      { op: 'Identity', in: ['bn.weight'], out: ['bn.running_var'] },
      { op: 'Identity', in: ['bn.bias'], out: ['bn.running_mean'] },
      norm(['x', 'bn.weight', 'bn.bias', 'bn.running_mean', 'bn.running_var'], 'y'),
    ],
    buffers: ['bn.running_mean', 'bn.running_var'],
  },
  'by name': {
    nodes: [norm(['x', 'bn.weight', 'bn.bias', 'bn.bias', 'bn.weight'], 'y')],
    buffers: ['bn.$bias.running_mean', 'bn.$weight.running_var'],
  },
};

it.each(Object.entries(FILES))('%s', async (_, { nodes, buffers }) => {
  const imported = await importOnnx(bytes(nodes));
  const names = Array.from(imported.namedBuffers(), ([name]) => name);
  expect(names.sort()).toEqual(buffers);
  expect(Array.from(imported.namedParameters(), ([name]) => name).length).toBe(2);
  const x = randn([4, 3]);
  const loss = (): Tensor => imported.call({ x }).y!.square().sum();
  loss().backward();
  const [weight, bias] = Array.from(imported.namedParameters(), ([, parameter]) => parameter);
  // y = x / √(1 + ε): its derivatives by weight and bias are those of a batch norm whose statistics stay.
  const scaled = x.div(Math.sqrt(1 + 1e-5));
  const wanted = [scaled.square().sum(0).mul(2), scaled.sum(0).mul(2)];
  for (const [i, parameter] of [weight!, bias!].entries())
    expect(Number(parameter.grad!.sub(wanted[i]!).abs().max().item())).toBeLessThan(1e-5);
});

it('statistics that two batch norms share stay one buffer', async () => {
  const imported = await importOnnx(
    model({
      inputs: [value('x', ['N', 3])],
      outputs: [value('y', ['N', 3])],
      initializers: [
        floats('w', [3], [1, 2, 3]),
        floats('b', [3], [1, 0, 1]),
        floats('mean', [3], [0, 0, 0]),
        floats('var', [3], [1, 1, 1]),
      ],
      nodes: [norm(['x', 'w', 'b', 'mean', 'var'], 'a'), norm(['a', 'w', 'b', 'mean', 'var'], 'y')],
    }),
  );
  expect(Array.from(imported.namedBuffers(), ([name]) => name)).toEqual(['mean', 'var']);
});

it('in a branch, too', async () => {
  const branch = (from: string): ReturnType<typeof graph> =>
    graph({
      inputs: [],
      outputs: [value('inner', ['N', 3])],
      initializers: [floats('w', [3], [1, 1, 1]), floats('b', [3], [0, 0, 0])],
      nodes: [norm([from, 'w', 'b', 'b', 'w'], 'inner')],
    });
  const imported = await importOnnx(
    model({
      inputs: [value('x', ['N', 3])],
      outputs: [value('y', ['N', 3])],
      initializers: [ints('yes', [], [1])],
      nodes: [
        { op: 'Cast', in: ['yes'], out: ['condition'], attributes: { to: 9 } },
        {
          op: 'If',
          in: ['condition'],
          out: ['y'],
          attributes: { then_branch: branch('x'), else_branch: branch('x') },
        },
      ],
    }),
  );
  const x = randn([2, 3]);
  imported.call({ x }).y!.sum().backward();
  expect(Array.from(imported.namedBuffers()).filter(([name]) => /running/.test(name)).length).toBe(
    4,
  );
});
