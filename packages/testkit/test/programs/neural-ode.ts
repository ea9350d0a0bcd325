/** @file A neural ODE: Euler steps through a learned field, and gradients back through all of them. */
import { Linear, Module, functional as F, optim } from '@tessera/nn';
import { type Tensor, linspace, stack } from '@tessera/tensor';
import type { Program } from './program.js';

const [TIMES, STEP] = [8, 0.25];

class Field extends Module {
  hidden: Linear = new Linear(2, 16);
  out: Linear = new Linear(16, 2, { bias: false });
  forward(x: Tensor): Tensor {
    return this.out.call(F.softplus(this.hidden.call(x.pow(3))));
  }
}

export const neuralOde: Program = {
  name: 'neural ODE',
  start({ device, compile }) {
    const model = new Field().to(device);
    const optimizer = new optim.Adam(model.parameters(), { lr: 0.01, eps: 1e-5 });
    const phases = linspace(0, 2, 6)
      .unsqueeze(0)
      .add(linspace(0, 1.5, TIMES).unsqueeze(1));
    const orbit = stack([phases.cos(), phases.sin()], -1).to(device);
    const step = compile((path: Tensor) => {
      let x = path.select(0, 0);
      const states = [x];
      for (let i = 1; i < TIMES; i++) states.push((x = x.add(model.call(x).mul(STEP))));
      const loss = stack(states).sub(path).abs().mean();
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      return loss;
    });
    return { state: { model }, step: () => step(orbit) };
  },
};
