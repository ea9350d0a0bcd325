/** @file Few-shot learning by prototypes: classes of an episode are the means of their examples. */
import {
  BatchNorm2d,
  Conv2d,
  MaxPool2d,
  ReLU,
  Sequential,
  functional as F,
  optim,
} from '@tessera/nn';
import { type Tensor, arange, cdist, randn } from '@tessera/tensor';
import type { Program } from './program.js';

const [WAYS, SHOTS, QUERIES] = [3, 2, 2];

const encoder = (): Sequential =>
  new Sequential(
    new Conv2d(1, 8, 3, { padding: 1, bias: false }),
    new BatchNorm2d(8),
    new ReLU(),
    new MaxPool2d(2),
    new Conv2d(8, 8, 3, { padding: 1 }),
    new MaxPool2d(2),
  );

export const fewShot: Program = {
  name: 'few-shot learning by prototypes',
  start({ device, compile }) {
    const model = encoder().to(device);
    const optimizer = new optim.Adam(model.parameters(), { lr: 0.005, eps: 1e-5 });
    const kinds = randn([8, 1, 1, 8, 8]);
    const labels = arange(WAYS).repeatInterleave(QUERIES).to(device);
    const step = compile((support: Tensor, queries: Tensor) => {
      const embed = (x: Tensor): Tensor => model.call(x.flatten(0, 1)).flatten(1);
      const prototypes = embed(support).view([WAYS, SHOTS, -1]).mean(1);
      const logits = cdist(embed(queries), prototypes).square().neg().div(10);
      const loss = F.crossEntropy(logits, labels);
      optimizer.zeroGrad();
      loss.backward();
      optimizer.step();
      return [loss, logits.argmax(1).eq(labels).to('float32').mean()];
    });
    const episode = (i: number, count: number): Tensor =>
      kinds
        .narrow(0, i, WAYS)
        .add(randn([WAYS, count, 1, 8, 8]))
        .to(device);
    return { state: { model }, step: (i) => step(episode(i, SHOTS), episode(i, QUERIES)) };
  },
};
