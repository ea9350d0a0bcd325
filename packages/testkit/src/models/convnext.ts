/**
 * @file ConvNeXt: depthwise convolutions and feed-forward networks over channels, in four stages.
 *
 * Names are those of timm's `ConvNeXt` (`test_convnext`).
 *
 * @see https://arxiv.org/abs/2201.03545
 */
import {
  AdaptiveAvgPool2d,
  Conv2d,
  Flatten,
  GELU,
  Identity,
  LayerNorm,
  Linear,
  Module,
  Parameter,
  Sequential,
  type TensorModule,
  init,
} from '@tessera/nn';
import { type Tensor, zeros } from '@tessera/tensor';
import { labelLoss } from './label-loss.js';
import type { RecordedModel } from './recorded-model.js';

const CHANNELS = [24, 32, 48, 64] as const;
const DEPTHS = [1, 2, 4, 2] as const;

/** A layer norm over the channels of [N, C, H, W]. */
class LayerNorm2d extends LayerNorm {
  override forward(x: Tensor): Tensor {
    return super.forward(x.permute([0, 2, 3, 1])).permute([0, 3, 1, 2]);
  }
}

class Mlp extends Module {
  fc1: Linear;
  act = new GELU({ approximate: 'tanh' });
  fc2: Linear;

  constructor(channels: number) {
    super();
    this.fc1 = new Linear(channels, 4 * channels);
    this.fc2 = new Linear(4 * channels, channels);
  }

  override forward(x: Tensor): Tensor {
    return this.fc2.call(this.act.call(this.fc1.call(x)));
  }
}

class Block extends Module {
  /** Scale of what is added, per channel. */
  gamma: Parameter;
  conv_dw: Conv2d;
  norm: LayerNorm;
  mlp: Mlp;

  constructor(channels: number) {
    super();
    this.gamma = new Parameter(init.constant_(zeros([channels]), 1e-6));
    this.conv_dw = new Conv2d(channels, channels, 7, { padding: 3, groups: channels });
    this.norm = new LayerNorm(channels);
    this.mlp = new Mlp(channels);
  }

  override forward(x: Tensor): Tensor {
    const rows = this.norm.call(this.conv_dw.call(x).permute([0, 2, 3, 1]));
    const mixed = this.mlp.call(rows).permute([0, 3, 1, 2]);
    return x.add(mixed.mul(this.gamma.reshape([1, -1, 1, 1])));
  }
}

class Stage extends Module {
  downsample: TensorModule;
  blocks: Sequential;

  constructor(inChannels: number, channels: number, depth: number) {
    super();
    this.downsample =
      inChannels === channels
        ? new Identity()
        : new Sequential(
            new LayerNorm2d(inChannels),
            new Conv2d(inChannels, channels, 2, { stride: 2 }),
          );
    this.blocks = new Sequential(...Array.from({ length: depth }, () => new Block(channels)));
  }

  override forward(x: Tensor): Tensor {
    return this.blocks.call(this.downsample.call(x));
  }
}

class Head extends Module {
  global_pool = new AdaptiveAvgPool2d(1);
  norm = new LayerNorm2d(CHANNELS[3]);
  flatten = new Flatten();
  fc = new Linear(CHANNELS[3], 10);

  override forward(x: Tensor): Tensor {
    return this.fc.call(this.flatten.call(this.norm.call(this.global_pool.call(x))));
  }
}

class ConvNeXt extends Module {
  stem = new Sequential(new Conv2d(3, CHANNELS[0], 4, { stride: 4 }), new LayerNorm2d(CHANNELS[0]));
  stages = new Sequential(
    ...CHANNELS.map(
      (channels, i) => new Stage(CHANNELS[Math.max(0, i - 1)]!, channels, DEPTHS[i]!),
    ),
  );
  head = new Head();

  /** [N, 3, H, W] → [N, 10] */
  override forward(x: Tensor): Tensor {
    return this.head.call(this.stages.call(this.stem.call(x)));
  }
}

export const convnext: RecordedModel = {
  name: 'test_convnext',
  build: () => new ConvNeXt(),
  loss: labelLoss,
};
