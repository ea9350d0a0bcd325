/**
 * @file Whole training runs: eager against PyTorch's recorded losses, compiled against eager.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, arange } from '@tessera/tensor';
import {
  AdaptiveAvgPool2d,
  BatchNorm2d,
  Conv2d,
  Flatten,
  Linear,
  Module,
  ReLU,
  Sequential,
  type TensorModule,
  functional,
  optim,
} from '../src/index.js';
import { compileForTest } from './compile-for-test.js';
import { digitBatch, initialState, recorded, recordedTensor } from './oracle.js';

/** Flatten, Linear(64, 128), ReLU, Linear(128, 10) from the recorded weights. */
function digitsMlp(): TensorModule {
  const model = new Sequential(new Flatten(), new Linear(64, 128), new ReLU(), new Linear(128, 10));
  model.loadStateDict(initialState('digits_mlp'));
  return model;
}

class DigitsCnn extends Module {
  c1 = new Conv2d(1, 16, 3, { padding: 1 });
  b1 = new BatchNorm2d(16);
  c2 = new Conv2d(16, 32, 3, { stride: 2, padding: 1 });
  b2 = new BatchNorm2d(32);
  pool = new AdaptiveAvgPool2d(1);
  fc = new Linear(32, 10);
  relu = new ReLU();

  override forward(x: Tensor): Tensor {
    const low = this.relu.call(this.b1.call(this.c1.call(x)));
    const high = this.relu.call(this.b2.call(this.c2.call(low)));
    return this.fc.call(this.pool.call(high).flatten(1));
  }
}

function digitsCnn(): DigitsCnn {
  const model = new DigitsCnn();
  model.loadStateDict(initialState('digits_cnn'));
  return model;
}

const adamW = (model: Module): optim.Optimizer => new optim.AdamW(model.parameters(), { lr: 1e-2 });
const sgd = (model: Module): optim.Optimizer =>
  new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9, weightDecay: 1e-4 });

type Step = (images: Tensor, labels: Tensor) => Tensor;

function trainingStep(model: TensorModule, optimizer: optim.Optimizer): Step {
  return function trainStep(images, labels) {
    optimizer.zeroGrad();
    const loss = functional.crossEntropy(model.call(images), labels);
    loss.backward();
    optimizer.step();
    return loss;
  };
}

function losses(step: Step, count: number, start = 0): number[] {
  return Array.from({ length: count }, (_, i) => {
    const { images, labels } = digitBatch(start + i);
    return step(images, labels).item();
  });
}

function expectClose(
  actual: readonly number[],
  expected: readonly number[],
  relative: number,
): void {
  actual.forEach((value, i) =>
    expect(
      Math.abs(value - expected[i]!),
      `step ${i}: ${value} against ${expected[i]}`,
    ).toBeLessThanOrEqual(relative * Math.abs(expected[i]!)),
  );
}

describe("eager training follows PyTorch's losses", () => {
  it('of digits_mlp for an epoch', () => {
    const model = digitsMlp();
    expectClose(losses(trainingStep(model, adamW(model)), 15), recorded.digits_mlp.losses, 1e-4);
  });

  it('of digits_cnn for its first steps', () => {
    const model = digitsCnn();
    expectClose(losses(trainingStep(model, sgd(model)), 5), recorded.digits_cnn.losses, 1e-4);
    expect(model.b1.num_batches_tracked!.item()).toBe(5);
  });

  it('of a convolution with batch norm, whose output is also right in both modes', () => {
    class ConvBn extends Module {
      conv = new Conv2d(3, 32, 3, { stride: 2, bias: false });
      bn = new BatchNorm2d(32, { eps: 1e-3 });

      override forward(x: Tensor): Tensor {
        return this.bn.call(this.conv.call(x));
      }
    }
    const largestDifference = (a: Tensor, b: Tensor): number => a.sub(b).abs().max().item();
    const model = new ConvBn();
    model.loadStateDict(initialState('conv_bn_eval'));
    expect(
      largestDifference(
        model.eval().call(recordedTensor('conv_bn_eval/input0')),
        recordedTensor('conv_bn_eval/output'),
      ),
    ).toBeLessThan(1e-5);
    model.train().loadStateDict(initialState('conv_bn_train'));
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.05, momentum: 0.9 });
    const channels = arange(32).reshape([1, 32, 1, 1]);
    const x = recordedTensor('conv_bn_train/input0');
    const seen = Array.from({ length: 8 }, (_, i) => {
      optimizer.zeroGrad();
      const y = model.call(x);
      if (i === 0)
        expect(largestDifference(y, recordedTensor('conv_bn_train/output'))).toBeLessThan(1e-5);
      const loss = y.mul(channels).mean();
      loss.backward();
      if (i === 0)
        expect(
          largestDifference(model.bn.bias!.grad!, recordedTensor('conv_bn_train/grad/bn.bias')),
        ).toBeLessThan(1e-5);
      optimizer.step();
      return loss.item();
    });
    // The first loss is a sum that cancels to nothing.
    expect(Math.abs(seen[0]!)).toBeLessThan(1e-5);
    expectClose(seen.slice(1), recorded.conv_bn_train.losses.slice(1), 1e-4);
  });
});

describe('compiled training', () => {
  it.each([
    ['an MLP', digitsMlp, adamW, 6],
    ['a convolutional net with batch norm', digitsCnn, sgd, 3],
  ] as const)(
    'captures a whole step of %s once, with the losses and weights of eager',
    (_, make, optimizer, count) => {
      const eagerModel = make();
      const eager = losses(trainingStep(eagerModel, optimizer(eagerModel)), count);
      const model = make();
      const {
        call,
        function: compiled,
        graphs,
      } = compileForTest(trainingStep(model, optimizer(model)));
      expect(losses(call, count)).toEqual(eager);
      expect([compiled.captures.length, graphs.length]).toEqual([1, 1]);
      const [expected, actual] = [eagerModel.stateDict(), model.stateDict()];
      for (const [name, value] of Object.entries(expected))
        expect(actual[name]!.toArray(), name).toEqual(value.toArray());
    },
  );

  it('evaluates with another graph than it trains, and both stay cached', () => {
    const model = digitsCnn();
    const { images } = digitBatch(0);
    const compiled = compileForTest((x: Tensor) => model.call(x));
    for (const mode of [true, false, true, false]) {
      model.train(mode);
      compiled.call(images);
    }
    expect(compiled.function.captures.length).toBe(2);
    expect(compiled.function.reasons).toEqual([
      expect.stringContaining('expected aten.add_.Tensor, got aten.batch_norm.default'),
    ]);
    expect(compiled.graphs[1]!.print()).toContain('running_var, false, 0.1');
    expect(model.b1.num_batches_tracked!.item()).toBe(2);
  });
});
