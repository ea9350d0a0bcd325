/** @file A mixture of experts: the two best of four by a router, weights of all as one tensor, a loss for balance. */
import { Linear, Module, Parameter, functional as F, optim } from '@tessera/nn';
import { type Tensor, einsum, randn, zerosLike } from '@tessera/tensor';
import type { Program } from './program.js';

const EXPERTS = 4;

class Mixture extends Module {
  router: Linear = new Linear(12, EXPERTS, { bias: false });
  up: Parameter = new Parameter(randn([EXPERTS, 12, 24]).mul(0.2));
  down: Parameter = new Parameter(randn([EXPERTS, 24, 12]).mul(0.2));

  forward(x: Tensor): [Tensor, Tensor] {
    const shares = F.softmax(this.router.call(x), -1);
    const [best, which] = shares.topk(2);
    const weights = best.div(best.sum(-1, { keepdim: true }));
    const gates = zerosLike(shares).scatter(1, which, weights);
    const hidden = F.gelu(einsum('td,edh->teh', x, this.up));
    const results = einsum('teh,ehd->ted', hidden, this.down);
    const used = gates.gt(0).to('float32').mean(0);
    const balance = used.mul(shares.mean(0)).sum().mul(EXPERTS);
    return [x.add(einsum('te,ted->td', gates, results)), balance];
  }
}

class Classifier extends Module {
  first: Mixture = new Mixture();
  second: Mixture = new Mixture();
  head: Linear = new Linear(12, 1);
  forward(x: Tensor): [Tensor, Tensor] {
    const [a, balanceA] = this.first.call(x);
    const [b, balanceB] = this.second.call(a);
    return [this.head.call(b).squeeze(1), balanceA.add(balanceB)];
  }
}

export const mixtureOfExperts: Program = {
  name: 'mixture of experts',
  start({ device, compile }) {
    const model = new Classifier().to(device);
    const optimizer = new optim.AdamW(model.parameters(), { lr: 0.01 });
    const inputs = randn([32, 12]);
    const [x, y] = [inputs.to(device), inputs.sin().sum(1).to(device)];
    const step = compile((features: Tensor, targets: Tensor) => {
      const [predicted, balance] = model.call(features);
      const loss = F.smoothL1Loss(predicted, targets).add(balance.mul(0.01));
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      return [loss, balance];
    });
    return { state: { model }, step: () => step(x, y) };
  },
};
