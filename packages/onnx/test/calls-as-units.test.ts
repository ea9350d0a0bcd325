/**
 * @file A compiled call of a model is matched as one unit: its nodes run while it is recorded, not when it is called
 * again. What decides something besides sizes is still seen.
 */
import { compile, explain, observeCompilations } from '@tessera/compile';
import { Parameter, functionalCall } from '@tessera/nn';
import { type Tensor, noGrad, randn, tensor } from '@tessera/tensor';
import { afterEach, expect, it, vi } from 'vitest';
import { type OnnxModule, importOnnx, registerOnnxOperator } from '../src/index.js';
import { Run } from '../src/run/run.js';
import {
  type NodeSpec,
  floats,
  graph,
  ints,
  model as build,
  value,
} from './support/build-model.js';
import { convolutional, transformer } from './support/models.js';

/** Of element types, the number of int64. */
const INT64 = 7;

afterEach(() => void vi.restoreAllMocks());

/** How often the nodes of models ran. */
function countRuns(): () => number {
  const runs = vi.spyOn(Run.prototype, 'main');
  return () => runs.mock.calls.length;
}

function numbers(x: Tensor): number[] {
  return x.detach().reshape([-1]).toArray() as number[];
}

it.each([
  { title: 'a convolutional network', file: convolutional, sizes: [2, 2, 4, 4] },
  { title: 'a transformer block', file: transformer, sizes: [2, 5, 8] },
])('$title: nodes run in the first call only', async ({ file, sizes }) => {
  const model = await importOnnx(file());
  const run = compile((x: Tensor) => model.call(x).y!);
  const runs = countRuns();
  for (let i = 0; i < 4; i++) run(randn(sizes));
  expect(runs()).toBe(1);
  const x = randn(sizes);
  const found = run(x);
  expect(numbers(found).length).toBe(numbers(model.call(x).y!).length);
  numbers(model.call(x).y!).forEach((y, i) => expect(numbers(found)[i]).toBeCloseTo(y, 4));
});

it('new parameters need no new run of the nodes, and are those that count', async () => {
  const model = await importOnnx(
    build({
      inputs: [value('x', [2])],
      outputs: [value('y', [2])],
      initializers: [floats('w', [2], [1, 2])],
      nodes: [{ op: 'Mul', in: ['x', 'w'], out: ['y'] }],
    }),
  );
  const run = compile((x: Tensor) => model.call(x).y!);
  const x = tensor([1, 1]);
  expect(numbers(run(x))).toEqual([1, 2]);
  const runs = countRuns();
  noGrad(() => void (model as unknown as { w: Tensor }).w.mul_(3));
  expect(numbers(run(x))).toEqual([3, 6]);
  model.loadStateDict({ w: tensor([5, 7]) });
  expect(numbers(run(x))).toEqual([5, 7]);
  expect(runs()).toBe(0);
});

it('tensors that are put in the place of initialisers count, also for one call', async () => {
  const model = await importOnnx(
    build({
      inputs: [value('x', [2])],
      outputs: [value('y', [2])],
      initializers: [floats('w', [2], [1, 2])],
      nodes: [{ op: 'Mul', in: ['x', 'w'], out: ['y'] }],
    }),
  );
  const x = tensor([1, 1]);
  const call = (x: Tensor): Tensor => model.call(x).y!;
  const lent = (x: Tensor, w: Tensor): Tensor => functionalCall(model, { w: w.mul(2) }, x).y!;
  type Call = (...tensors: Tensor[]) => Tensor;
  for (const wrap of [(fn: Call): Call => fn, (fn: Call): Call => compile(fn)]) {
    expect(numbers(wrap(call as Call)(x))).toEqual([1, 2]);
    const run = wrap(lent as Call);
    expect(numbers(run(x, tensor([3, 4])))).toEqual([6, 8]);
    expect(numbers(run(x, tensor([5, 6])))).toEqual([10, 12]);
    expect(numbers(wrap(call as Call)(x))).toEqual([1, 2]);
  }
  const run = compile(call);
  expect(numbers(run(x))).toEqual([1, 2]);
  Object.assign(model, { w: new Parameter(tensor([7, 8])) });
  expect(numbers(call(x))).toEqual([7, 8]);
  expect(numbers(run(x))).toEqual([7, 8]);
});

it.each([
  { mode: 'reflect', padded: [3, 2, 1, 2, 3, 2] },
  { mode: 'edge', padded: [1, 1, 1, 2, 3, 3] },
  { mode: 'wrap', padded: [2, 3, 1, 2, 3, 1] },
])('padding in mode $mode and numbers folded from constants are part of the unit', async (each) => {
  const model = await importOnnx(
    build(
      {
        inputs: [value('x', [3])],
        outputs: [value('y', [6])],
        initializers: [ints('pads', [2], [2, 1])],
        nodes: [
          { op: 'Pad', in: ['x', 'pads'], out: ['padded'], attributes: { mode: each.mode } },
          { op: 'Constant', in: [], out: ['one'], attributes: { value: floats('one', [1], [1]) } },
          { op: 'Concat', in: ['one', 'one', 'one'], out: ['three'], attributes: { axis: 0 } },
          { op: 'Concat', in: ['three', 'three'], out: ['ones'], attributes: { axis: 0 } },
          { op: 'Add', in: ['padded', 'ones'], out: ['y'] },
        ],
      },
      19,
    ),
  );
  const run = compile((x: Tensor) => model.call(x).y!);
  const runs = countRuns();
  for (let i = 0; i < 3; i++)
    expect(numbers(run(tensor([1, 2, 3])))).toEqual(each.padded.map((x) => x + 1));
  expect(runs()).toBe(1);
});

it('what is folded from constants is not what initialisers hold', async () => {
  const model = await importOnnx(
    build({
      inputs: [value('x', [2])],
      outputs: [value('y', [2])],
      initializers: [ints('first', [1], [0]), ints('second', [1], [1])],
      nodes: [
        { op: 'Concat', in: ['first', 'second'], out: ['order'], attributes: { axis: 0 } },
        { op: 'Gather', in: ['x', 'order'], out: ['y'], attributes: { axis: 0 } },
      ],
    }),
  );
  const run = compile((x: Tensor) => model.call(x).y!);
  expect(numbers(run(tensor([3, 4])))).toEqual([3, 4]);
  model.loadStateDict({
    first: tensor([1], { dtype: 'int64' }),
    second: tensor([0], { dtype: 'int64' }),
  });
  expect(numbers(run(tensor([3, 4])))).toEqual([4, 3]);
});

/** x + 1 at the rate of 8000, x · 2 at others, as models of speech choose their branch. */
function byRate(): Promise<OnnxModule> {
  const branch = (node: NodeSpec) =>
    graph({ inputs: [], outputs: [value('z', [2])], nodes: [node] });
  return importOnnx(
    build({
      inputs: [value('x', [2]), value('rate', [], INT64)],
      outputs: [value('y', [2])],
      initializers: [ints('slow', [], [8000]), floats('one', [], [1]), floats('two', [], [2])],
      nodes: [
        { op: 'Equal', in: ['rate', 'slow'], out: ['isSlow'] },
        {
          op: 'If',
          in: ['isSlow'],
          out: ['y'],
          attributes: {
            then_branch: branch({ op: 'Add', in: ['x', 'one'], out: ['z'] }),
            else_branch: branch({ op: 'Mul', in: ['x', 'two'], out: ['z'] }),
          },
        },
      ],
    }),
  );
}

it('an input that chooses a branch is read before, so there is no graph break', async () => {
  const model = await byRate();
  const rate = (hertz: number): Tensor => tensor(hertz, { dtype: 'int64' });
  const call = (x: Tensor, rate: Tensor): Tensor => model.call({ x, rate }).y!;
  const run = compile(call, { fullgraph: true });
  const x = tensor([3, 4]);
  expect(numbers(run(x, rate(8000)))).toEqual([4, 5]);
  expect(numbers(run(x, rate(16000)))).toEqual([6, 8]);
  const runs = countRuns();
  expect(numbers(run(x, rate(8000)))).toEqual([4, 5]);
  expect(numbers(run(x, rate(16000)))).toEqual([6, 8]);
  expect(runs()).toBe(0);
  const { graphCount, graphBreakCount } = explain(call)(x, rate(8000));
  expect([graphCount, graphBreakCount]).toEqual([1, 0]);
});

it('an input that takes many values has no graph for each', async () => {
  const model = await byRate();
  const run = compile((x: Tensor, rate: Tensor) => model.call({ x, rate }).y!);
  const x = tensor([3, 4]);
  const call = (hertz: number): number[] => numbers(run(x, tensor(hertz, { dtype: 'int64' })));
  for (let hertz = 1; hertz <= 8; hertz++) expect(call(hertz)).toEqual([6, 8]);
  const made: unknown[] = [];
  const stop = observeCompilations((_, compilation) => made.push(compilation));
  for (let hertz = 100; hertz < 120; hertz++) expect(call(hertz)).toEqual([6, 8]);
  stop();
  expect(made).toEqual([]);
  expect(call(8000)).toEqual([4, 5]);
});

it('a rate that is written in place is the new one', async () => {
  const model = await byRate();
  const run = compile((x: Tensor, rate: Tensor) => model.call({ x, rate }).y!);
  const rate = tensor(8000, { dtype: 'int64' });
  const x = tensor([3, 4]);
  expect(numbers(run(x, rate))).toEqual([4, 5]);
  rate.fill_(16000);
  expect(numbers(run(x, rate))).toEqual([6, 8]);
});

it('operators from outside run in every call', async () => {
  let calls = 0;
  registerOnnxOperator('com.example', 'Counted', (call) => {
    calls++;
    return call.tensor(0).add(calls);
  });
  const model = await importOnnx(
    build({
      inputs: [value('x', [1])],
      outputs: [value('y', [1])],
      nodes: [{ op: 'Counted', domain: 'com.example', in: ['x'], out: ['y'] }],
    }),
  );
  const run = compile((x: Tensor) => model.call(x).y!);
  expect([1, 2, 3].map(() => numbers(run(tensor([0])))[0])).toEqual([1, 2, 3]);
});

it('models that hold tensors alike are not taken for one another', async () => {
  const file = (op: string): Uint8Array =>
    build({
      inputs: [value('x', [2])],
      outputs: [value('y', [2])],
      initializers: [floats('w', [2], [1, 2])],
      nodes: [{ op, in: ['x', 'w'], out: ['y'] }],
    });
  const models = [await importOnnx(file('Mul')), await importOnnx(file('Sub'))];
  const run = compile((model: OnnxModule, x: Tensor) => model.call(x).y!);
  for (let i = 0; i < 3; i++)
    for (const [k, model] of models.entries())
      expect(numbers(run(model, tensor([5, 7])))).toEqual(
        [
          [5, 14],
          [4, 5],
        ][k],
      );
});
