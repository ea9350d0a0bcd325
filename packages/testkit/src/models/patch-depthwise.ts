/**
 * @file Patches, mixed within channels by a depthwise and between them by a pointwise convolution.
 */
import { Conv2d, Module, Sequential, optim } from '@tessera/nn';
import type { Tensor } from '@tessera/tensor';
import type { RecordedModel } from './recorded-model.js';

class PatchDepthwise extends Module {
  seq = new Sequential(
    new Conv2d(3, 64, 7, { stride: 7, bias: false }),
    new Conv2d(64, 64, 7, { groups: 64, padding: 'same', bias: false }),
  );
  conv = new Conv2d(64, 64, 1, { bias: false });

  override forward(x: Tensor): Tensor {
    return this.conv.call(this.seq.call(x));
  }
}

export const patchDepthwise: RecordedModel = {
  name: 'patch_depthwise',
  build: () => new PatchDepthwise(),
  loss: (output) => output.square().sum(),
  optimizer: (model) => new optim.SGD(model.parameters(), { lr: 1e-4 }),
};
