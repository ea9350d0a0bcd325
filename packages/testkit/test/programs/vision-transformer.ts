/** @file A vision transformer: patches, a class token, encoder layers with dropout, soft targets by mixup. */
import {
  Conv2d,
  LayerNorm,
  Linear,
  Module,
  Parameter,
  TransformerEncoder,
  TransformerEncoderLayer,
  functional as F,
  optim,
} from '@tessera/nn';
import { type Tensor, cat, randint, randn, zeros } from '@tessera/tensor';
import type { Program } from './program.js';

const WIDTH = 16;

class VisionTransformer extends Module {
  patches: Conv2d = new Conv2d(3, WIDTH, 4, { stride: 4 });
  token: Parameter = new Parameter(zeros([1, 1, WIDTH]));
  places: Parameter = new Parameter(randn([1, 5, WIDTH]).mul(0.02));
  encoder: TransformerEncoder = new TransformerEncoder(
    new TransformerEncoderLayer(WIDTH, 2, {
      dimFeedforward: 32,
      dropout: 0.1,
      activation: 'gelu',
      batchFirst: true,
      normFirst: true,
    }),
    2,
  );
  norm: LayerNorm = new LayerNorm(WIDTH);
  head: Linear = new Linear(WIDTH, 6);

  forward(x: Tensor): Tensor {
    const patches = this.patches.call(x).flatten(2).transpose(1, 2);
    const token = this.token.expand([x.shape[0]!, 1, WIDTH]);
    const tokens = this.encoder.call(cat([token, patches], 1).add(this.places));
    return this.head.call(this.norm.call(tokens.select(1, 0)));
  }
}

export const visionTransformer: Program = {
  name: 'vision transformer',
  start({ device, compile }) {
    const model = new VisionTransformer().to(device);
    const optimizer = new optim.AdamW(model.parameters(), { lr: 0.003, eps: 1e-5 });
    const images = randn([4, 3, 8, 8]).to(device);
    const labels = F.oneHot(randint(0, 6, [4]), 6)
      .to('float32')
      .to(device);
    const step = compile((x: Tensor, y: Tensor, share: number) => {
      const mixed = x.mul(share).add(x.roll(1, 0).mul(1 - share));
      const targets = y.mul(share).add(y.roll(1, 0).mul(1 - share));
      optimizer.zeroGrad();
      const loss = F.crossEntropy(model.call(mixed), targets);
      loss.backward();
      optimizer.step();
      return loss;
    });
    return { state: { model }, step: (i) => step(images, labels, 0.9 - 0.1 * i) };
  },
};
