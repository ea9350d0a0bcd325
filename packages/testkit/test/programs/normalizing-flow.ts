/** @file A normalizing flow (RealNVP): couplings whose halves change places, likelihood by their determinants. */
import { Linear, Module, ModuleList, optim } from '@tessera/nn';
import { type Tensor, cat, randn, zeros } from '@tessera/tensor';
import type { Program } from './program.js';

class Coupling extends Module {
  hidden: Linear = new Linear(2, 16);
  out: Linear = new Linear(16, 4);
  constructor(private readonly swaps: boolean) {
    super();
  }
  forward(x: Tensor): [Tensor, Tensor] {
    const halves = x.chunk(2, 1) as [Tensor, Tensor];
    const [kept, moved] = this.swaps ? [halves[1], halves[0]] : halves;
    const [scale, shift] = this.out.call(this.hidden.call(kept).tanh()).chunk(2, 1) as [
      Tensor,
      Tensor,
    ];
    const bounded = scale.tanh();
    const next = moved.mul(bounded.exp()).add(shift);
    return [cat(this.swaps ? [next, kept] : [kept, next], 1), bounded.sum(1)];
  }
}

class Flow extends Module {
  layers: ModuleList<Coupling> = new ModuleList([0, 1, 2, 3].map((i) => new Coupling(i % 2 === 1)));
  /** Negative logarithm of the density at each point. */
  forward(x: Tensor): Tensor {
    let [z, determinant] = [x, zeros([x.shape[0]!], { device: x.device })];
    for (const layer of this.layers) {
      const [next, logDeterminant] = layer.call(z);
      [z, determinant] = [next, determinant.add(logDeterminant)];
    }
    const prior = z
      .square()
      .sum(1)
      .mul(0.5)
      .add(2 * Math.log(2 * Math.PI));
    return prior.sub(determinant);
  }
}

export const normalizingFlow: Program = {
  name: 'normalizing flow',
  start({ device, compile }) {
    const model = new Flow().to(device);
    const optimizer = new optim.Adamax(model.parameters(), { lr: 0.01, eps: 1e-5 });
    const data = randn([24, 4]).cumsum(1).to(device);
    const step = compile((x: Tensor) => {
      const loss = model.call(x).mean();
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      return loss;
    });
    return { state: { model }, step: () => step(data) };
  },
};
