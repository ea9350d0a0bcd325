/**
 * @file A convolution and a batch norm, in evaluation and in training.
 */
import { BatchNorm2d, Conv2d, Module, optim } from '@tessera/nn';
import { type Tensor, arange } from '@tessera/tensor';
import type { RecordedModel } from './recorded-model.js';

class ConvBn extends Module {
  conv = new Conv2d(3, 32, 3, { stride: 2, bias: false });
  bn = new BatchNorm2d(32, { eps: 1e-3 });

  override forward(x: Tensor): Tensor {
    return this.bn.call(this.conv.call(x));
  }
}

export const convBnEval: RecordedModel = {
  name: 'conv_bn_eval',
  build: () => new ConvBn(),
  loss: (output) => output.square().mean(),
};

export const convBnTrain: RecordedModel = {
  name: 'conv_bn_train',
  build: () => new ConvBn(),
  loss: (output) => output.mul(arange(32).reshape([1, 32, 1, 1])).mean(),
  optimizer: (model) => new optim.SGD(model.parameters(), { lr: 0.05, momentum: 0.9 }),
  // Each channel is normalised, so weights have no gradient but that of rounding.
  noise: 1e-5,
};
