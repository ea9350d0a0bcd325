/**
 * @file Whole training steps: eager against PyTorch's recorded losses, compiled against eager.
 */
import { describe, expect, it } from 'vitest';
import type { Tensor } from '@tessera/tensor';
import { Flatten, Linear, ReLU, Sequential, functional, optim } from '../src/index.js';
import { compileForTest } from './compile-for-test.js';
import { digitBatch, initialState, recorded } from './oracle.js';

function mlp(): Sequential {
  const model = new Sequential(new Flatten(), new Linear(64, 128), new ReLU(), new Linear(128, 10));
  model.loadStateDict(initialState('digits_mlp'));
  return model;
}

function trainingStep(model: Sequential, optimizer: optim.Optimizer<never, object>): (images: Tensor, labels: Tensor) => Tensor {
  return function trainStep(images, labels) {
    optimizer.zeroGrad();
    const loss = functional.crossEntropy(model.call(images), labels);
    loss.backward();
    optimizer.step();
    return loss;
  };
}

function losses(step: (images: Tensor, labels: Tensor) => Tensor, count: number): number[] {
  return Array.from({ length: count }, (_, i) => {
    const { images, labels } = digitBatch(i);
    return step(images, labels).item();
  });
}

function expectClose(actual: readonly number[], expected: readonly number[], relative: number): void {
  actual.forEach((value, i) => expect(Math.abs(value - expected[i]!), `step ${i}: ${value} against ${expected[i]}`).toBeLessThanOrEqual(relative * Math.abs(expected[i]!)));
}

describe('eager training', () => {
  it("follows PyTorch's losses of digits_mlp step by step", () => {
    const model = mlp();
    const step = trainingStep(model, new optim.AdamW(model.parameters(), { lr: 1e-2 }) as never);
    expectClose(losses(step, 15), recorded.digits_mlp.losses, 1e-4);
  });
});

describe('compiled training', () => {
  it('captures a whole step of an MLP once, with the losses of eager', () => {
    const eagerModel = mlp();
    const eager = losses(trainingStep(eagerModel, new optim.AdamW(eagerModel.parameters(), { lr: 1e-2 }) as never), 6);
    const model = mlp();
    const { call, function: compiled, graphs } = compileForTest(trainingStep(model, new optim.AdamW(model.parameters(), { lr: 1e-2 }) as never));
    expect(losses(call, 6)).toEqual(eager);
    expect(compiled.captures.length).toBe(1);
    expect(graphs.length).toBe(1);
    expect(model.stateDict()['1.weight']!.toArray()).toEqual(eagerModel.stateDict()['1.weight']!.toArray());
  });
});
