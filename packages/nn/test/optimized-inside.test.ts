/**
 * @file Optimizers of leaves that a compiled function makes.
 */
import { type Tensor, manualSeed, randn } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import { Linear, ReLU, Sequential, optim } from '../src/index.js';
import { compileForTest } from './compile-for-test.js';

const makers: Record<string, (params: Tensor[]) => optim.Optimizer> = {
  'SGD with momentum': (params) =>
    new optim.SGD(params, { lr: 0.1, momentum: 0.9, nesterov: true, weightDecay: 0.01 }),
  AdamW: (params) => new optim.AdamW(params, { lr: 0.01, amsgrad: true }),
  RMSprop: (params) => new optim.RMSprop(params, { lr: 0.01, centered: true, momentum: 0.5 }),
};

describe.each(Object.entries(makers))('an input optimized inside by %s', (_, make) => {
  it.each([
    ['is one graph', true],
    ['is a leaf behind it, and goes on there', false],
  ])('%s', (_name, isInside) => {
    manualSeed(1);
    const model = new Sequential(new Linear(4, 6), new ReLU(), new Linear(6, 2));
    const inputs = Array.from({ length: 4 }, () => randn([3, 4]));
    let optimizer: optim.Optimizer;
    const optimize = (x: Tensor): Tensor => {
      const z = x.mul(0.5).requiresGrad_();
      expect(z.isLeaf).toBe(true);
      optimizer = make([z]);
      for (let i = 0; i < 3; i++) {
        optimizer.zeroGrad();
        model.call(z).square().sum().backward();
        optimizer.step();
      }
      return isInside ? z.detach() : z;
    };
    const { call, graphs } = compileForTest(optimize);
    const results = [optimize, call].map((run) =>
      inputs.map((x) => {
        const z = run(x);
        if (!isInside) {
          optimizer.zeroGrad();
          z.square().sum().backward();
          optimizer.step();
        }
        return z.detach().toArray();
      }),
    );
    expect(results[1]).toEqual(results[0]);
    if (isInside) expect(graphs.length).toBe(1);
  });
});
