/** @file A siamese network: one tower called three times, a margin between near and far, gradients accumulated. */
import {
  BatchNorm1d,
  Dropout,
  Linear,
  ReLU,
  Sequential,
  functional as F,
  optim,
} from '@tessera/nn';
import { type Tensor, randn } from '@tessera/tensor';
import type { Program } from './program.js';

const tower = (): Sequential =>
  new Sequential(
    new Linear(10, 24, { bias: false }),
    new BatchNorm1d(24),
    new ReLU(),
    new Dropout(0.2),
    new Linear(24, 6),
  );

export const siamese: Program = {
  name: 'siamese network',
  steps: 4,
  start({ device, compile }) {
    const model = tower().to(device);
    const optimizer = new optim.Adadelta(model.parameters(), { lr: 1, eps: 1e-4 });
    const backward = compile((anchor: Tensor, near: Tensor, far: Tensor) => {
      const [a, n, f] = [anchor, near, far].map((x) => model.call(x));
      const loss = F.tripletMarginLoss(a!, n!, f!, { margin: 1, swap: true });
      loss.div(2).backward();
      return loss;
    });
    const update = compile(() => {
      optimizer.step();
      optimizer.zeroGrad();
    });
    const anchors = randn([8, 10]);
    const step = (i: number): Tensor => {
      const near = anchors.add(randn([8, 10]).mul(0.1));
      const loss = backward(anchors.to(device), near.to(device), randn([8, 10]).to(device));
      if (i % 2 === 1) update();
      return loss;
    };
    return { state: { model }, step };
  },
};
