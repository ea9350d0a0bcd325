/** @file A graph network: messages along edges, gathered and added at nodes; node classes, some unlabelled. */
import { Linear, Module, functional as F, optim } from '@tessera/nn';
import { type Tensor, ones, rand, randint, randn, zeros } from '@tessera/tensor';
import type { Program } from './program.js';

const [NODES, EDGES] = [24, 80];

class Convolution extends Module {
  self: Linear;
  neighbours: Linear;
  constructor(from: number, to: number) {
    super();
    this.self = new Linear(from, to);
    this.neighbours = new Linear(from, to, { bias: false });
  }
  forward(x: Tensor, source: Tensor, target: Tensor, degree: Tensor): Tensor {
    const messages = this.neighbours.call(x).indexSelect(0, source);
    const sums = zeros([NODES, messages.shape[1]!], { device: x.device });
    return this.self.call(x).add(sums.indexAdd(0, target, messages).div(degree));
  }
}

class Network extends Module {
  first: Convolution = new Convolution(8, 16);
  second: Convolution = new Convolution(16, 5);
  forward(x: Tensor, source: Tensor, target: Tensor): Tensor {
    const degree = zeros([NODES], { device: x.device })
      .scatterAdd(0, target, ones([EDGES], { device: x.device }))
      .clampMin(1)
      .unsqueeze(1);
    const hidden = F.relu(this.first.call(x, source, target, degree));
    return this.second.call(F.dropout(hidden, { p: 0.3 }), source, target, degree);
  }
}

export const graphNetwork: Program = {
  name: 'graph network',
  start({ device, compile }) {
    const model = new Network().to(device);
    const optimizer = new optim.Adam(model.parameters(), { lr: 0.02, weightDecay: 5e-4 });
    const [source, target] = [randint(0, NODES, [EDGES]), randint(0, NODES, [EDGES])];
    const labels = randint(0, 5, [NODES]).maskedFill(rand([NODES]).lt(0.5), -100);
    const [from, to, y] = [source.to(device), target.to(device), labels.to(device)];
    const features = randn([NODES, 8]).to(device);
    const step = compile((x: Tensor) => {
      optimizer.zeroGrad();
      const loss = F.crossEntropy(model.call(x, from, to), y);
      loss.backward();
      optimizer.step();
      return loss;
    });
    return { state: { model }, step: () => step(features) };
  },
};
