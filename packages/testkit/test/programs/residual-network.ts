/** @file A ResNet: residual blocks with batch norm, SGD with momentum and decay, then predictions in `eval`. */
import {
  AdaptiveAvgPool2d,
  BatchNorm2d,
  Conv2d,
  Linear,
  Module,
  functional as F,
  lrScheduler,
  optim,
} from '@tessera/nn';
import { type Tensor, noGrad, randint, randn } from '@tessera/tensor';
import type { Program } from './program.js';

class Block extends Module {
  first: Conv2d;
  norm1: BatchNorm2d;
  second: Conv2d;
  norm2: BatchNorm2d;
  shortcut: Conv2d;
  constructor(from: number, to: number, stride: number) {
    super();
    this.first = new Conv2d(from, to, 3, { stride, padding: 1, bias: false });
    this.norm1 = new BatchNorm2d(to);
    this.second = new Conv2d(to, to, 3, { padding: 1, bias: false });
    this.norm2 = new BatchNorm2d(to);
    this.shortcut = new Conv2d(from, to, 1, { stride, bias: false });
  }
  forward(x: Tensor): Tensor {
    const inner = F.relu(this.norm1.call(this.first.call(x)));
    return F.relu(this.norm2.call(this.second.call(inner)).add(this.shortcut.call(x)));
  }
}

class Network extends Module {
  block1: Block = new Block(3, 8, 1);
  block2: Block = new Block(8, 16, 2);
  pool: AdaptiveAvgPool2d = new AdaptiveAvgPool2d(1);
  head: Linear = new Linear(16, 5);
  forward(x: Tensor): Tensor {
    const features = this.block2.call(this.block1.call(x));
    return this.head.call(this.pool.call(features).flatten(1));
  }
}

export const residualNetwork: Program = {
  name: 'ResNet',
  steps: 4,
  start({ device, compile }) {
    const model = new Network().to(device);
    const optimizer = new optim.SGD(model.parameters(), {
      lr: 0.05,
      momentum: 0.9,
      weightDecay: 5e-4,
      nesterov: true,
    });
    const schedule = new lrScheduler.OneCycleLR(optimizer, { maxLr: 0.1, totalSteps: 4 });
    const [x, y] = [randn([4, 3, 8, 8]).to(device), randint(0, 5, [4]).to(device)];
    const train = compile((images: Tensor, labels: Tensor) => {
      optimizer.zeroGrad();
      const logits = model.call(images);
      const loss = F.crossEntropy(logits, labels, { labelSmoothing: 0.1 });
      loss.backward();
      optimizer.step();
      return loss;
    });
    const predict = compile((images: Tensor) => model.call(images));
    const step = (i: number): Tensor => {
      if (i === 3) return noGrad(() => (model.eval(), predict(x)));
      const loss = train(x, y);
      schedule.step();
      return loss;
    };
    return { state: { model }, step };
  },
};
