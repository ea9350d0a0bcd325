/** @file Differentiable architecture search: weights step on one half of the data, the choice of operations on the other, through that step. */
import { Linear, Parameter, functional as F, optim } from '@tessera/nn';
import { type Tensor, grad, rand, randint, stack, tensor } from '@tessera/tensor';
import type { Program } from './program.js';

export const architectureSearch: Program = {
  name: 'architecture search through a step of the weights',
  start({ device, compile }) {
    const layers = [new Linear(5, 5), new Linear(5, 5), new Linear(5, 3)].map((m) => m.to(device));
    const weights = layers.flatMap((layer) => [...layer.parameters()]);
    const alpha = new Parameter(tensor([0.01, -0.02, 0.03], { device }));
    const chooser = new optim.Adam([alpha], { lr: 0.05, betas: [0.5, 0.999] });
    const optimizer = new optim.SGD(weights, { lr: 0.1, momentum: 0.9 });
    const lossOf = (w: readonly Tensor[], x: Tensor, y: Tensor): Tensor => {
      const choices = [F.linear(x, w[0]!, w[1]!).relu(), F.linear(x, w[2]!, w[3]!).tanh(), x];
      const mixed = stack(choices)
        .mul(F.softmax(alpha, 0).view([-1, 1, 1]))
        .sum(0);
      return F.crossEntropy(F.linear(mixed, w[4]!, w[5]!), y);
    };
    const step = compile((x: Tensor, y: Tensor, heldOut: Tensor, labels: Tensor) => {
      const gradients = grad(lossOf(weights, x, y), weights, { createGraph: true });
      const ahead = weights.map((w, i) => w.sub(gradients[i]!.mul(0.1)));
      const outer = lossOf(ahead, heldOut, labels);
      alpha.grad = grad(outer, [alpha])[0]!;
      chooser.step();
      const inner = lossOf(weights, x, y);
      optimizer.zeroGrad();
      inner.backward();
      optimizer.step();
      return [outer, inner, alpha.softmax(0)];
    });
    const batch = (rows: number): [Tensor, Tensor] => [
      rand([rows, 5]).to(device),
      randint(0, 3, [rows]).to(device),
    ];
    return {
      state: { first: layers[0]!, second: layers[1]!, head: layers[2]!, alpha },
      step: (i) => step(...batch(i % 2 === 0 ? 6 : 4), ...batch(5)),
    };
  },
};
