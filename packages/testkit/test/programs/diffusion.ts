/** @file Diffusion: noise of random strength is predicted, an average of the weights follows, and a sample is drawn. */
import { Linear, Module, functional as F, optim } from '@tessera/nn';
import {
  type Tensor,
  arange,
  cat,
  linspace,
  noGrad,
  randint,
  randn,
  randnLike,
} from '@tessera/tensor';
import type { Program } from './program.js';

const TIMES = 8;

class Denoiser extends Module {
  time: Linear = new Linear(16, 32);
  input: Linear = new Linear(2, 32);
  middle: Linear = new Linear(32, 32);
  output: Linear = new Linear(32, 2);
  forward(x: Tensor, at: Tensor): Tensor {
    const rates = arange(8, { device: x.device }).mul(-0.6).exp();
    const angles = at.to('float32').unsqueeze(1).mul(rates);
    const time = this.time.call(cat([angles.sin(), angles.cos()], 1));
    return this.output.call(F.silu(this.middle.call(F.silu(this.input.call(x).add(time)))));
  }
}

export const diffusion: Program = {
  name: 'diffusion',
  steps: 4,
  start({ device, compile }) {
    const [model, average] = [new Denoiser(), new Denoiser()];
    average.loadStateDict(model.stateDict());
    for (const each of [model, average]) each.to(device);
    const optimizer = new optim.AdamW(model.parameters(), { lr: 0.005 });
    const alpha = linspace(0.99, 0.8, TIMES).to(device);
    const kept = alpha.cumprod(0);
    const data = randn([32, 2]).mul(0.3).add(1).to(device);
    const train = compile((x: Tensor) => {
      const at = randint(0, TIMES, [32], { device });
      const noise = randnLike(x);
      const share = kept.indexSelect(0, at).unsqueeze(1);
      const noisy = x.mul(share.sqrt()).add(noise.mul(share.neg().add(1).sqrt()));
      const loss = F.mseLoss(model.call(noisy, at), noise);
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      noGrad(() => {
        const now = [...model.parameters()];
        for (const [i, slow] of [...average.parameters()].entries()) slow.lerp_(now[i]!, 0.1);
      });
      return loss;
    });
    const denoise = compile((x: Tensor, at: Tensor) => {
      const [a, k] = [alpha.indexSelect(0, at).unsqueeze(1), kept.indexSelect(0, at).unsqueeze(1)];
      const noise = average.call(x, at);
      const mean = x.sub(noise.mul(a.neg().add(1).div(k.neg().add(1).sqrt()))).div(a.sqrt());
      return mean.add(randnLike(x).mul(a.neg().add(1).sqrt()).mul(at.gt(0).unsqueeze(1)));
    });
    const sample = (): Tensor =>
      noGrad(() => {
        let x = randn([4, 2], { device });
        for (let at = TIMES - 1; at >= 0; at--)
          x = denoise(x, arange(4, { device }).mul(0).add(at));
        return x;
      });
    return { state: { model, average }, step: (i) => (i < 3 ? train(data) : sample()) };
  },
};
