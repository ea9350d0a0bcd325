/**
 * @file `functionalCall`, alone and under `grad` and `vmap`, eager and compiled.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, isclose, manualSeed, ones, randn, zerosLike } from '@tessera/tensor';
import { grad, vmap } from '@tessera/tensor/func';
import {
  BatchNorm1d,
  Conv2d,
  Dropout,
  Embedding,
  Flatten,
  LayerNorm,
  Linear,
  Module,
  Parameter,
  ReLU,
  Sequential,
  TransformerEncoderLayer,
  functional as F,
  functionalCall,
  stackModuleState,
} from '../src/index.js';
import { compileForTest } from './compile-for-test.js';

function close(a: Tensor, b: Tensor): void {
  expect(a.sizes).toEqual(b.sizes);
  expect(
    isclose(a.detach(), b.detach(), { rtol: 1e-4, atol: 1e-5 }).all().item(),
    `${a}\n${b}`,
  ).toBe(1);
}

const mlp = (): Sequential => new Sequential(new Linear(4, 8), new ReLU(), new Linear(8, 3));

function stateOf(model: Module): Record<string, Tensor> {
  return Object.fromEntries(model.namedParameters().map(([name, p]) => [name, p.detach()]));
}

describe('functionalCall', () => {
  it('uses the given tensors and leaves the module as it was', () => {
    const model = mlp();
    const before = model.parameters();
    const x = randn([2, 4]);
    const other = mlp();
    close(functionalCall(model, stateOf(other), [x]), other.call(x));
    close(functionalCall(model, {}, x), model.call(x));
    expect(model.parameters()).toEqual(before);
    expect(() => functionalCall(model, { nope: x }, [x])).toThrow('Unexpected key(s): nope');
    expect(() => functionalCall(model, {}, [x], { strict: true })).toThrow(
      'Missing key(s): 0.weight',
    );
    expect(() => functionalCall(model, stateOf(other), [randn([2, 5])])).toThrow('shape');
    expect(model.parameters()).toEqual(before);
  });

  it('gradients flow into the given tensors', () => {
    const model = mlp();
    const state = Object.fromEntries(
      Object.entries(stateOf(model)).map(([name, p]) => [name, p.requiresGrad_()]),
    );
    functionalCall(model, state, [ones([2, 4])])
      .sum()
      .backward();
    model
      .call(ones([2, 4]))
      .sum()
      .backward();
    for (const [name, p] of model.namedParameters()) close(state[name]!.grad!, p.grad!);
  });

  it('updates the buffers that it is given', () => {
    const norm = new BatchNorm1d(3);
    const buffers = Object.fromEntries(norm.namedBuffers().map(([n, b]) => [n, b.clone()]));
    functionalCall(norm, [stateOf(norm), buffers], [randn([8, 3])]);
    expect(norm.running_mean!.square().sum().item()).toBe(0);
    expect(buffers[norm.namedBuffers()[0]![0]]!.square().sum().item()).toBeGreaterThan(0);
  });

  it('replaces tied weights everywhere', () => {
    class Tied extends Module {
      a = new Parameter(ones([2]));
      b = this.a;
      override forward(x: Tensor): Tensor {
        return x.mul(this.a).add(this.b);
      }
    }
    const tied = new Tied();
    const two = ones([2]).mul(2);
    expect(functionalCall(tied, { a: two }, [ones([2])]).toArray()).toEqual([4, 4]);
    expect(functionalCall(tied, { a: two }, [ones([2])], { tieWeights: false }).toArray()).toEqual([
      3, 3,
    ]);
    expect(() => functionalCall(tied, { a: two, b: ones([2]) }, [ones([2])])).toThrow('tied');
  });

  it('compiled: one graph, also for other values of the parameters', () => {
    const model = mlp();
    const fn = (state: Record<string, Tensor>, x: Tensor): Tensor =>
      functionalCall(model, state, [x]);
    const compiled = compileForTest(fn);
    const x = randn([2, 4]);
    for (const other of [mlp(), mlp(), mlp()])
      close(compiled.call(stateOf(other), x), other.call(x));
    expect(compiled.graphs.length).toBe(1);
  });
});

describe('per-example gradients', () => {
  const cases: Record<string, [() => Module, Tensor]> = {
    'linear layers': [mlp, randn([5, 4])],
    convolution: [
      () => new Sequential(new Conv2d(2, 3, 3), new ReLU(), new Flatten(0), new Linear(48, 3)),
      randn([5, 2, 6, 6]),
    ],
    'layer norm': [() => new Sequential(new Linear(4, 3), new LayerNorm([3])), randn([5, 4])],
    'transformer layer': [
      () => new TransformerEncoderLayer(4, 2, { dimFeedforward: 8, dropout: 0, batchFirst: true }),
      randn([3, 1, 3, 4]),
    ],
  };
  it.each(Object.entries(cases))(
    '%s: as one call per example, eager and compiled',
    (_, [make, xs]) => {
      manualSeed(2);
      const model = make();
      const state = stateOf(model);
      const loss = (p: Record<string, Tensor>, x: Tensor): Tensor =>
        (functionalCall(model, p, [x] as never) as Tensor).square().sum();
      const each = vmap(grad(loss), { inDims: [null, 0] });
      const expected = xs.unbind(0).map((x) => grad(loss)(state, x));
      const compiled = compileForTest(each);
      for (const result of [each(state, xs), compiled.call(state, xs), compiled.call(state, xs)])
        for (const name of Object.keys(state))
          expected.forEach((one, i) => close(result[name]!.select(0, i), one[name]!));
      expect(compiled.graphs.length).toBe(1);
    },
  );

  it('cross entropy of an embedding model', () => {
    const model = new Sequential(new Embedding(6, 4), new Flatten(0), new Linear(12, 3));
    const state = stateOf(model);
    const loss = (p: Record<string, Tensor>, x: Tensor, y: Tensor): Tensor =>
      F.crossEntropy(functionalCall(model, p, [x]), y);
    const xs = ones([4, 3])
      .to('int64')
      .add(ones([4, 3]).to('int64').cumsum(0));
    const ys = zerosLike(xs.select(1, 0));
    const each = vmap(grad(loss), { inDims: [null, 0, 0] })(state, xs, ys);
    xs.unbind(0).forEach((x, i) => {
      const one = grad(loss)(state, x, ys.select(0, i));
      for (const name of Object.keys(state)) close(each[name]!.select(0, i), one[name]!);
    });
  });
});

describe('ensembles', () => {
  it('of stacked modules are one call, with dropout of their own', () => {
    const models = [mlp(), mlp(), mlp()];
    const [params, buffers] = stackModuleState(models);
    expect(params['0.weight']!.requiresGrad).toBe(true);
    const x = randn([2, 4]);
    const run = (p: Record<string, Tensor>, b: Record<string, Tensor>, input: Tensor): Tensor =>
      functionalCall(models[0]!, [p, b], [input]);
    const ensemble = vmap(run, { inDims: [0, 0, null] });
    const outs = ensemble(params, buffers, x);
    const compiled = compileForTest(ensemble).call(params, buffers, x);
    models.forEach((model, i) => {
      close(outs.select(0, i), model.call(x));
      close(compiled.select(0, i), model.call(x));
    });
    const dropout = new Dropout(0.5);
    const rows = vmap((v: Tensor) => dropout.call(v), { randomness: 'different' })(ones([16, 8]));
    expect(new Set((rows.toArray() as number[][]).map(String)).size).toBeGreaterThan(4);
    expect(() => stackModuleState([mlp(), mlp().eval()])).toThrow('same training');
  });
});
