/**
 * @file Two classifiers of 8×8 handwritten digits, one with linear layers and one with convolutions.
 */
import {
  AdaptiveAvgPool2d,
  BatchNorm2d,
  Conv2d,
  Flatten,
  Linear,
  Module,
  ReLU,
  Sequential,
  functional as F,
  optim,
} from '@tessera/nn';
import type { Tensor } from '@tessera/tensor';
import type { RecordedModel } from './recorded-model.js';

class DigitsCnn extends Module {
  c1 = new Conv2d(1, 16, 3, { padding: 1 });
  b1 = new BatchNorm2d(16);
  c2 = new Conv2d(16, 32, 3, { stride: 2, padding: 1 });
  b2 = new BatchNorm2d(32);
  pool = new AdaptiveAvgPool2d(1);
  fc = new Linear(32, 10);
  relu = new ReLU();

  /** [N, 1, 8, 8] → [N, 10] */
  override forward(x: Tensor): Tensor {
    const low = this.relu.call(this.b1.call(this.c1.call(x)));
    const high = this.relu.call(this.b2.call(this.c2.call(low)));
    return this.fc.call(this.pool.call(high).flatten(1));
  }
}

export const digitsMlp: RecordedModel = {
  name: 'digits_mlp',
  build: () => new Sequential(new Flatten(), new Linear(64, 128), new ReLU(), new Linear(128, 10)),
  loss: (output, _, { target }) => F.crossEntropy(output, target!),
  optimizer: (model) => new optim.AdamW(model.parameters(), { lr: 1e-2 }),
};

export const digitsCnn: RecordedModel = {
  name: 'digits_cnn',
  build: () => new DigitsCnn(),
  loss: (output, _, { target }) => F.crossEntropy(output, target!),
  optimizer: (model) =>
    new optim.SGD(model.parameters(), { lr: 0.1, momentum: 0.9, weightDecay: 1e-4 }),
};
