/**
 * @file The training loop.
 */
import type { Module } from '@tessera/nn';
import * as F from '@tessera/nn/functional';
import type * as optim from '@tessera/nn/optim';
import { type Tensor, noGrad } from '@tessera/tensor';
import type { DigitSet } from './digits.js';

type Model = Module & { forward(x: Tensor): Tensor };

/** One training step: forward, backward, update. Compiled, it is one artifact. */
export function trainingStep(
  model: Model,
  optimizer: optim.Optimizer,
): (images: Tensor, labels: Tensor) => Tensor {
  return function trainStep(images: Tensor, labels: Tensor): Tensor {
    optimizer.zeroGrad();
    const loss = F.crossEntropy(model.call(images) as Tensor, labels);
    loss.backward();
    optimizer.step();
    return loss;
  };
}

/** Batches of an epoch in order, as views of the set. */
export function batches(set: DigitSet, batchSize: number): { images: Tensor; labels: Tensor }[] {
  const list = [];
  for (let start = 0; start < set.size; start += batchSize) {
    list.push({
      images: set.images.narrow(0, start, batchSize),
      labels: set.labels.narrow(0, start, batchSize),
    });
  }
  return list;
}

/** Predicted classes of a set. */
export async function predict(model: Model, set: DigitSet): Promise<number[]> {
  model.eval();
  const classes = noGrad(() => (model.call(set.images) as Tensor).argmax(1));
  const values = (await classes.toArray()) as number[];
  model.train();
  return values;
}

/** Share of predictions that equal the labels. */
export function accuracy(predictions: readonly number[], labels: Uint8Array): number {
  return predictions.filter((value, i) => value === labels[i]).length / labels.length;
}

/** Wall-clock result of some steps. */
export interface Timed {
  readonly losses: number[];
  readonly msPerStep: number;
}

/** Runs `count` steps over the batches (again from the start when they end) and reads every loss. */
export async function runSteps(
  step: (images: Tensor, labels: Tensor) => Tensor,
  set: DigitSet,
  batchSize: number,
  count: number,
): Promise<Timed> {
  const all = batches(set, batchSize);
  const losses: number[] = [];
  const start = performance.now();
  for (let i = 0; i < count; i++) {
    const { images, labels } = all[i % all.length]!;
    losses.push(await step(images, labels).item());
  }
  return { losses, msPerStep: (performance.now() - start) / count };
}
