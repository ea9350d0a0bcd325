/** @file Contrastive learning (SimCLR): two noisy views of each image find each other among all others. */
import { Linear, Module, functional as F, optim } from '@tessera/nn';
import {
  type Tensor,
  arange,
  bernoulli,
  cat,
  eye,
  fullLike,
  rand,
  randnLike,
} from '@tessera/tensor';
import type { Program } from './program.js';

const BATCH = 12;

class Encoder extends Module {
  hidden: Linear = new Linear(24, 32);
  features: Linear = new Linear(32, 16);
  project: Linear = new Linear(16, 8);
  forward(x: Tensor): Tensor {
    const features = F.relu(this.features.call(F.relu(this.hidden.call(x))));
    return F.normalize(this.project.call(features), { dim: 1 });
  }
}

/** Noise, and pixels that are missing. */
function view(x: Tensor): Tensor {
  return x.add(randnLike(x).mul(0.1)).mul(bernoulli(fullLike(x, 0.8)));
}

export const contrastive: Program = {
  name: 'contrastive learning (SimCLR)',
  start({ device, compile }) {
    const model = new Encoder().to(device);
    const optimizer = new optim.SGD(model.parameters(), { lr: 0.2, momentum: 0.9 });
    const images = rand([BATCH, 24]).to(device);
    const others = cat([arange(BATCH, 2 * BATCH), arange(BATCH)]).to(device);
    const self = eye(2 * BATCH, 2 * BATCH, { dtype: 'bool' }).to(device);
    const step = compile((x: Tensor) => {
      const z = model.call(cat([view(x), view(x)]));
      const similar = z.matmul(z.t()).div(0.5).maskedFill(self, -Infinity);
      const loss = F.crossEntropy(similar, others);
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      return [loss, similar.argmax(1).eq(others).sum()];
    });
    return { state: { model }, step: () => step(images) };
  },
};
