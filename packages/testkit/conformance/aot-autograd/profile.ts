/**
 * @file The row about sequence numbers in a profile.
 */
import { compile, graphBreak, profile } from '@tessera/compile';
import { BatchNorm2d, Conv2d, L1Loss, Linear, Module, ReLU } from '@tessera/nn';
import { type Tensor, grad, manualSeed, rand, tensor } from '@tessera/tensor';
import { expect } from 'vitest';
import { CompileCounterWithBackend } from '../../src/index.js';

class Model extends Module {
  readonly conv1: Conv2d = new Conv2d(16, 16, 1, { padding: 'same' });
  readonly bn1: BatchNorm2d = new BatchNorm2d(16);
  readonly relu1: ReLU = new ReLU();
  readonly fc1: Linear = new Linear(2 * 16 * 8 * 8, 1);
  readonly lossFn: L1Loss = new L1Loss();

  override forward(x: Tensor, target: Tensor): Tensor {
    const y = this.relu1.call(this.bn1.call(this.conv1.call(x))).add(x);
    return this.lossFn.call(this.fc1.call(y.flatten()), target);
  }
}

/** Events of a compiled step that takes a gradient carry numbers; those of backward nodes differ. */
export function profiledSequenceNumbers(): void {
  manualSeed(0);
  const x = rand([2, 16, 8, 8]).requiresGrad_();
  const target = rand([1]);
  const model = new Model();
  const gradOutput = tensor(1).requiresGrad_();
  const counter = new CompileCounterWithBackend('aot_eager');
  const step = compile(
    (mod: Model, input: Tensor, goal: Tensor) => {
      const loss = mod.call(input, goal);
      // PyTorch ends its graph at grad(), so that the engine runs.
      graphBreak();
      return grad(loss, [input, ...mod.parameters()], {
        gradOutputs: gradOutput,
        createGraph: true,
      });
    },
    { backend: counter },
  );
  const { events } = profile(() => step(model, x, target));
  // The break is there: the one graph ends with the loss.
  expect(counter.graphs.map((graph) => graph.print().includes('l1_loss'))).toEqual([true]);
  const nodes = events.filter(({ name }) => /Backward[01]$/.test(name));
  const numbers = [...new Set(nodes.map(({ sequenceNr }) => sequenceNr))];
  expect(numbers).toHaveLength(13);
  // Backward runs from the newest node to the oldest; what a node runs carries its number.
  expect(numbers).toEqual([...numbers].sort((a, b) => b - a));
  expect(nodes.every(({ category }) => category === 'backward')).toBe(true);
  const numbersOf = (op: string): number[] =>
    events.filter(({ name }) => name === op).map(({ sequenceNr }) => sequenceNr);
  expect(numbersOf('aten::convolution_backward')).toEqual([numbers.at(-1)]);
  // The op that made a node has its number too.
  expect(numbersOf('aten::relu')).toEqual(numbersOf('aten::threshold_backward'));
  expect(numbersOf('aten::batch_norm')).toEqual(numbersOf('aten::native_batch_norm_backward'));
}
