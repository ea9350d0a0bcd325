/**
 * @file A classifier of every time step: logits [N, C, T] against labels [N, T].
 */
import { Conv2d, Linear, Module, functional as F, optim } from '@tessera/nn';
import type { Tensor } from '@tessera/tensor';
import type { RecordedModel } from './recorded-model.js';

class StepClassifier extends Module {
  conv = new Conv2d(1, 11, 3, { padding: 'same' });
  out = new Linear(143, 11);

  /** [N, 1, T, 13] → [N, 11, T] */
  override forward(x: Tensor): Tensor {
    const features = this.conv.call(x);
    const [n, , t] = x.sizes;
    return this.out.call(features.reshape([n, t, 143])).reshape([n, 11, t]);
  }
}

export const nll2d: RecordedModel = {
  name: 'nll2d',
  build: () => new StepClassifier(),
  loss: (output, _, { target }) => F.crossEntropy(output, target!),
  optimizer: (model) => new optim.AdamW(model.parameters(), { lr: 1e-3, weightDecay: 0.01 }),
};
