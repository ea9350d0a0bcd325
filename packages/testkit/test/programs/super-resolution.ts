/** @file Super-resolution: convolutions, sub-pixels shuffled into place, a bicubic base. */
import { Conv2d, Module, PReLU, PixelShuffle, functional as F, optim } from '@tessera/nn';
import { type Tensor, rand } from '@tessera/tensor';
import type { Program } from './program.js';

class Upscaler extends Module {
  first: Conv2d = new Conv2d(1, 12, 5, { padding: 2 });
  activate: PReLU = new PReLU(12);
  second: Conv2d = new Conv2d(12, 8, 3, { padding: 1, paddingMode: 'reflect' });
  last: Conv2d = new Conv2d(8, 4, 3, { padding: 1 });
  shuffle: PixelShuffle = new PixelShuffle(2);
  forward(x: Tensor): Tensor {
    const features = this.activate.call(this.first.call(x));
    const detail = this.shuffle.call(this.last.call(this.second.call(features).relu()));
    return detail.add(F.interpolate(x, { scaleFactor: 2, mode: 'bicubic', alignCorners: false }));
  }
}

export const superResolution: Program = {
  name: 'super-resolution with PixelShuffle',
  start({ device, compile }) {
    const model = new Upscaler().to(device);
    const optimizer = new optim.NAdam(model.parameters(), { lr: 0.002, eps: 1e-5 });
    const large = rand([2, 1, 12, 12]).to(device);
    const small = F.avgPool2d(large, 2);
    const step = compile((x: Tensor, y: Tensor) => {
      const restored = model.call(x);
      const error = F.mseLoss(restored, y);
      const loss = F.l1Loss(restored, y);
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      return [loss, error.log10().mul(-10)];
    });
    return { state: { model }, step: () => step(small, large) };
  },
};
