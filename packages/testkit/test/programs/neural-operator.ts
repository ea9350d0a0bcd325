/**
 * @file A Fourier neural operator: spectra are weighted where their frequencies are low, at two resolutions, and the loss
 * asks for a slope of what comes out.
 */
import { Conv1d, Linear, Module, Parameter, functional as F, optim } from '@tessera/nn';
import { type Tensor, cat, einsum, linspace, randn, stack, zeros } from '@tessera/tensor';
import * as fft from '@tessera/tensor/fft';
import type { Program } from './program.js';

const [WIDTH, MODES] = [6, 3];

const mix = (spectrum: Tensor, weight: Tensor): Tensor =>
  einsum('bik,iok->bok', [spectrum, weight]);

/** Complex numbers are pairs, and products of them four products. */
class Spectral extends Module {
  weight: Parameter = new Parameter(randn([WIDTH, WIDTH, MODES, 2]).div(WIDTH * WIDTH));
  forward(x: Tensor): Tensor {
    const points = x.size(2);
    const [re, im] = fft.rfft(x).narrow(2, 0, MODES).unbind(-1) as [Tensor, Tensor];
    const [u, v] = this.weight.unbind(-1) as [Tensor, Tensor];
    const low = stack([mix(re, u).sub(mix(im, v)), mix(re, v).add(mix(im, u))], -1);
    const all = zeros([x.size(0), WIDTH, Math.floor(points / 2) + 1, 2], { device: x.device });
    all.indexPut_([':', ':', `:${MODES}`], low);
    return fft.irfft(all, { n: points });
  }
}

class Operator extends Module {
  lift: Linear = new Linear(2, WIDTH);
  spectral: Spectral = new Spectral();
  local: Conv1d = new Conv1d(WIDTH, WIDTH, 1);
  project: Linear = new Linear(WIDTH, 1);
  forward(x: Tensor): Tensor {
    const grid = linspace(0, 1, x.size(1), { device: x.device });
    const at = grid.index(null, ':', null).expand([x.size(0), -1, 1]);
    const lifted = this.lift.call(cat([x, at], -1)).transpose(1, 2);
    const y = F.gelu(this.spectral.call(lifted).add(this.local.call(lifted)));
    return this.project.call(y.transpose(1, 2));
  }
}

export const neuralOperator: Program = {
  name: 'neural operator',
  steps: 4,
  start({ device, compile }) {
    const model = new Operator().to(device);
    const optimizer = new optim.Adam(model.parameters(), { lr: 0.01, eps: 1e-5 });
    const waves = [12, 15].map((points) => {
      const x = linspace(0, 6, points)
        .unsqueeze(0)
        .add(linspace(0, 2, 3).unsqueeze(1));
      return x.sin().unsqueeze(-1).to(device);
    });
    const step = compile((x: Tensor) => {
      const y = model.call(x);
      const slope = y.diff(1, 1).sub(x.diff(1, 1));
      const loss = y.sub(x).flatten(1).norm(2, 1).sum().add(slope.square().sum());
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      return loss;
    });
    return { state: { model }, step: (i) => step(waves[i % 2]!) };
  },
};
