/** @file A variational autoencoder: noise drawn inside of the step, two losses. */
import { Linear, Module, functional as F, optim } from '@tessera/nn';
import { type Tensor, rand, randnLike } from '@tessera/tensor';
import type { Program } from './program.js';

class Autoencoder extends Module {
  encode: Linear = new Linear(36, 24);
  mean: Linear = new Linear(24, 6);
  logVariance: Linear = new Linear(24, 6);
  widen: Linear = new Linear(6, 24);
  decode: Linear = new Linear(24, 36);

  forward(x: Tensor): [Tensor, Tensor, Tensor] {
    const hidden = F.relu(this.encode.call(x));
    const [mean, logVariance] = [this.mean.call(hidden), this.logVariance.call(hidden)];
    const z = mean.add(randnLike(mean).mul(logVariance.mul(0.5).exp()));
    return [this.decode.call(F.relu(this.widen.call(z))), mean, logVariance];
  }
}

export const variationalAutoencoder: Program = {
  name: 'variational autoencoder',
  start({ device, compile }) {
    const model = new Autoencoder().to(device);
    const optimizer = new optim.Adam(model.parameters(), { lr: 0.01 });
    const images = rand([16, 36]).to(device);
    const step = compile((x: Tensor) => {
      const [logits, mean, logVariance] = model.call(x);
      const data = F.binaryCrossEntropyWithLogits(logits, x, { reduction: 'sum' });
      const spread = logVariance.add(1).sub(mean.square()).sub(logVariance.exp()).sum().mul(-0.5);
      const loss = data.add(spread).div(x.shape[0]!);
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      return [data, spread];
    });
    return { state: { model }, step: () => step(images) };
  },
};
