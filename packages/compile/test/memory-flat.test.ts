/**
 * @file Training holds memory flat to the byte where the library alone holds it, with no help of the collector.
 */
import { Linear, ReLU, Sequential, functional as F, optim } from '@tessera/nn';
import { type Tensor, liveStorageBytes, manualSeed, randint, randn, tidy } from '@tessera/tensor';
import { reclaimNow, withoutForcedCollection } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { compile } from '../src/index.js';

const MB = 1e6;

/** Live bytes before and after so many calls of `step`, after 50 to begin with. */
function growth(step: () => unknown, steps: number): number {
  for (let i = 0; i < 50; i++) step();
  const before = liveStorageBytes();
  for (let i = 0; i < steps; i++) step();
  return liveStorageBytes() - before;
}

interface Training {
  readonly step: () => Tensor;
  readonly loss: () => Tensor;
  readonly model: Sequential;
  readonly optimizer: optim.AdamW;
}

/** An MLP with its optimizer and data. */
function training(): Training {
  manualSeed(0);
  const model = new Sequential(
    new Linear(784, 512),
    new ReLU(),
    new Linear(512, 256),
    new ReLU(),
    new Linear(256, 10),
  );
  const optimizer = new optim.AdamW(model.parameters(), { lr: 1e-3 });
  const x = randn([16, 784]);
  const labels = randint(0, 10, [16], { dtype: 'int64' });
  const loss = (): Tensor => F.crossEntropy(model.call(x) as Tensor, labels);
  const step = (): Tensor => {
    optimizer.zeroGrad();
    const value = loss();
    value.backward();
    optimizer.step();
    return value;
  };
  return { step, loss, model, optimizer };
}

/** Nothing is collected. */
function flat(fn: () => void): void {
  reclaimNow();
  withoutForcedCollection(fn);
}

describe('live bytes of a training loop that never yields', { timeout: 300_000 }, () => {
  it('do not grow if the whole step is compiled', () =>
    flat(() => {
      const step = compile(training().step);
      const first = step().item();
      expect(growth(step, 450)).toBeLessThan(0.1 * MB);
      expect(step().item()).toBeLessThan(first / 2);
    }));

  it('do not grow if the loss is compiled', () =>
    flat(() => {
      const { loss, optimizer } = training();
      const compiled = compile(loss);
      const step = (): Tensor => {
        optimizer.zeroGrad();
        const value = compiled();
        value.backward();
        optimizer.step();
        return value;
      };
      const first = step().item();
      expect(growth(step, 200)).toBeLessThan(0.04 * MB);
      expect(step().item()).toBeLessThan(first / 2);
    }));

  it('do not grow in eager mode within tidy()', () =>
    flat(() => {
      const { step } = training();
      const first = tidy(() => step().item());
      expect(growth(() => tidy(() => void step()), 100)).toBe(0);
      expect(tidy(() => step().item())).toBeLessThan(first / 2);
    }));

  it('grow in eager mode by what the program was given: the activations, never gradients', () =>
    flat(() => {
      const { step } = training();
      const activations = 4 * 16 * (2 * 512 + 2 * 256 + 3 * 10);
      expect(growth(step, 20)).toBeLessThan(20 * 1.1 * activations);
    }));
});
