/** @file A U-Net with attention at its bottom, for segmentation: skips, group norms, upsampling. */
import { Conv2d, GroupNorm, Linear, MaxPool2d, Module, functional as F, optim } from '@tessera/nn';
import { type Tensor, cat, randint, randn } from '@tessera/tensor';
import type { Program } from './program.js';

class Block extends Module {
  conv: Conv2d;
  norm: GroupNorm;
  constructor(from: number, to: number) {
    super();
    this.conv = new Conv2d(from, to, 3, { padding: 1, bias: false });
    this.norm = new GroupNorm(2, to);
  }
  forward(x: Tensor): Tensor {
    return F.silu(this.norm.call(this.conv.call(x)));
  }
}

class Attention extends Module {
  project: Linear = new Linear(16, 48);
  out: Linear = new Linear(16, 16);
  forward(x: Tensor): Tensor {
    const [b, c, h, w] = x.shape as [number, number, number, number];
    const tokens = x.flatten(2).transpose(1, 2);
    const heads = this.project
      .call(tokens)
      .view([b, h * w, 3, 2, c / 2])
      .permute([2, 0, 3, 1, 4]);
    const [q, k, v] = heads.unbind(0) as [Tensor, Tensor, Tensor];
    const mixed = F.scaledDotProductAttention(q, k, v)
      .transpose(1, 2)
      .reshape([b, h * w, c]);
    return x.add(this.out.call(mixed).transpose(1, 2).reshape([b, c, h, w]));
  }
}

class UNet extends Module {
  down: Block = new Block(3, 8);
  bottom: Block = new Block(8, 16);
  attention: Attention = new Attention();
  up: Block = new Block(24, 8);
  head: Conv2d = new Conv2d(8, 4, 1);
  pool: MaxPool2d = new MaxPool2d(2);
  forward(x: Tensor): Tensor {
    const skip = this.down.call(x);
    const deep = this.attention.call(this.bottom.call(this.pool.call(skip)));
    const wide = F.interpolate(deep, { scaleFactor: 2, mode: 'nearest' });
    return this.head.call(this.up.call(cat([wide, skip], 1)));
  }
}

export const uNet: Program = {
  name: 'U-Net with attention',
  start({ device, compile }) {
    const model = new UNet().to(device);
    const optimizer = new optim.AdamW(model.parameters(), { lr: 0.003, eps: 1e-5 });
    const images = randn([2, 3, 8, 8]).to(device);
    const masks = randint(0, 4, [2, 8, 8]).to(device);
    const step = compile((x: Tensor, y: Tensor) => {
      optimizer.zeroGrad();
      const loss = F.crossEntropy(model.call(x), y);
      loss.backward();
      optimizer.step();
      return loss;
    });
    return { state: { model }, step: () => step(images, masks) };
  },
};
