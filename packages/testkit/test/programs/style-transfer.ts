/** @file Fast style transfer: a network of instance norms and resized convolutions, judged by features and their Gram matrices. */
import {
  Conv2d,
  InstanceNorm2d,
  Module,
  ReflectionPad2d,
  functional as F,
  optim,
} from '@tessera/nn';
import { type Tensor, noGrad, rand, tensor } from '@tessera/tensor';
import type { Program } from './program.js';

class Layer extends Module {
  pad: ReflectionPad2d;
  conv: Conv2d;
  norm: InstanceNorm2d;
  constructor(
    from: number,
    to: number,
    readonly stride = 1,
    readonly larger = 1,
  ) {
    super();
    this.pad = new ReflectionPad2d(1);
    this.conv = new Conv2d(from, to, 3, { stride });
    this.norm = new InstanceNorm2d(to, { affine: true });
  }
  forward(x: Tensor): Tensor {
    if (this.larger > 1) x = F.interpolate(x, { mode: 'nearest', scaleFactor: this.larger });
    return this.norm.call(this.conv.call(this.pad.call(x)));
  }
}

class Painter extends Module {
  down: Layer = new Layer(3, 6, 2);
  first: Layer = new Layer(6, 6);
  second: Layer = new Layer(6, 6);
  up: Layer = new Layer(6, 6, 1, 2);
  out: Conv2d = new Conv2d(6, 3, 3, { padding: 1 });
  forward(x: Tensor): Tensor {
    const y = this.down.call(x).relu();
    const z = this.second.call(this.first.call(y).relu()).add(y);
    return this.out.call(this.up.call(z).relu());
  }
}

class Features extends Module {
  near: Conv2d = new Conv2d(3, 5, 3, { padding: 1 });
  far: Conv2d = new Conv2d(5, 6, 3, { padding: 1 });
  forward(x: Tensor): [Tensor, Tensor] {
    const near = this.near.call(x).relu();
    return [near, this.far.call(F.maxPool2d(near, 2)).relu()];
  }
}

function gram(features: Tensor): Tensor {
  const [n, channels, height, width] = features.sizes as [number, number, number, number];
  const rows = features.view([n, channels, height * width]);
  return rows.bmm(rows.transpose(1, 2)).div(channels * height * width);
}

export const styleTransfer: Program = {
  name: 'style transfer by Gram matrices',
  start({ device, compile }) {
    const painter = new Painter().to(device);
    const features = new Features().to(device);
    for (const p of features.parameters()) p.requiresGrad = false;
    const optimizer = new optim.Adam(painter.parameters(), { lr: 0.002, eps: 1e-5 });
    const mean = tensor([0.485, 0.456, 0.406]).view([-1, 1, 1]).to(device);
    // The images are overwritten, as in the original.
    const normalized = (images: Tensor): Tensor => images.div_(255).sub(mean).div(0.225);
    const picture = rand([1, 3, 8, 8]).mul(255).to(device);
    const style = noGrad(() => features.call(normalized(picture)).map(gram));
    const step = compile((images: Tensor) => {
      optimizer.zeroGrad();
      const painted = features.call(normalized(painter.call(images)));
      const [, content] = features.call(normalized(images));
      const likeContent = F.mseLoss(painted[1], content);
      const likeStyle = painted
        .map((f, i) => F.mseLoss(gram(f), style[i]!.expand([images.size(0), -1, -1])))
        .reduce((sum, loss) => sum.add(loss));
      likeContent.add(likeStyle.mul(10)).backward();
      optimizer.step();
      return [likeContent, likeStyle, images.sum()];
    });
    return {
      state: { painter },
      step: (i) =>
        step(
          rand([i % 2 === 0 ? 2 : 3, 3, 8, 8])
            .mul(255)
            .to(device),
        ),
    };
  },
};
