/**
 * @file Modules without memory, and states that are taken over instead of copied.
 */
import { cpuHeap, equal, getRngState, noGrad, ones, randn, tensor, zeros } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { BatchNorm1d, Embedding, Linear, Sequential, skipInit } from '../src/index.js';
import { SGD } from '../src/optim/index.js';

const make = (): Sequential => new Sequential(new Linear(512, 512), new BatchNorm1d(512));

describe('skipInit', () => {
  it('allocates nothing and draws nothing', () => {
    const random = getRngState();
    const before = cpuHeap().stats();
    cpuHeap().resetPeak();
    const model = skipInit(() => new Sequential(new Embedding(1000, 512), make()));
    expect(cpuHeap().stats().peakBytes - before.liveBytes).toBeLessThan(10_000);
    expect(getRngState()).toEqual(random);
    expect(model.parameters().every(({ isFake }) => isFake)).toBe(true);
  });

  it('takes a class and what its constructor takes, as in PyTorch', () => {
    const linear = skipInit(Linear, 5, 1, { bias: false });
    expect(linear.weight.isFake).toBe(true);
    expect([linear.weight.shape, linear.bias]).toEqual([[1, 5], null]);
    // @ts-expect-error a size is no string
    void (() => skipInit(Linear, 'five', 1));
  });

  it('computes and trains like any other once a state was assigned, without a copy', () => {
    const source = make();
    const state = source.stateDict();
    const model = skipInit(make);
    const before = cpuHeap().stats().liveBytes;
    model.loadStateDict(state, { assign: true });
    expect(cpuHeap().stats().liveBytes - before).toBeLessThan(10_000);
    const x = randn([4, 512]);
    const forward = (module: Sequential) => noGrad(() => module.eval().call(x));
    expect(equal(forward(model), forward(source))).toBe(true);
    expect(model.parameters().every(({ requiresGrad }) => requiresGrad)).toBe(true);
    model.train().call(x).square().sum().backward();
    const weight = model.getParameter('0.weight').detach().clone();
    new SGD(model.parameters(), { lr: 0.1 }).step();
    expect(equal(model.getParameter('0.weight').detach(), weight)).toBe(false);
  });

  it('wants a state assigned, not copied: invalid-argument', () => {
    expect(() => skipInit(make).loadStateDict(make().stateDict())).toThrow('{ assign: true }');
    expect(() => skipInit((async () => make()) as never)).toThrow('at once');
  });
});

describe('loadStateDict with assign', () => {
  it('takes over memory, dtype and views; parameters stay what they are', () => {
    const layer = new Linear(2, 3);
    const { weight } = layer;
    const given = ones([3, 4], { dtype: 'float64' });
    const values = { weight: given.narrow(1, 1, 2), bias: zeros([3], { dtype: 'float64' }) };
    layer.loadStateDict(values, { assign: true });
    expect(layer.weight).toBe(weight);
    expect(weight.dtype).toBe('float64');
    given.fill_(2);
    const y = layer.call(tensor([[1, 1]], { dtype: 'float64' }));
    expect(y.detach().toArray()).toEqual([[4, 4, 4]]);
  });

  it('refuses sizes and kinds that do not fit, before anything is changed', () => {
    const layer = new Linear(2, 2);
    const { storage } = layer.weight;
    const whole = zeros([2, 2], { dtype: 'int32' });
    const load = (weight: typeof whole) => () =>
      layer.loadStateDict({ weight, bias: zeros([2]) }, { assign: true });
    expect(load(whole)).toThrow('int32 cannot be assigned');
    expect(load(zeros([2, 3]))).toThrow('size mismatch for weight');
    expect(layer.weight.storage).toBe(storage);
  });
});
