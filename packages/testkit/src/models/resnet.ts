/**
 * @file A residual network with a stem of three convolutions and both kinds of blocks.
 *
 * Names are those of timm's `ResNet` (`test_resnet`).
 *
 * @see https://arxiv.org/abs/1512.03385
 */
import {
  AdaptiveAvgPool2d,
  AvgPool2d,
  BatchNorm2d,
  Conv2d,
  Flatten,
  Linear,
  MaxPool2d,
  Module,
  ReLU,
  Sequential,
  type TensorModule,
} from '@tessera/nn';
import type { Tensor } from '@tessera/tensor';
import { labelLoss } from './label-loss.js';
import type { RecordedModel } from './recorded-model.js';

function conv3x3(inChannels: number, outChannels: number, stride = 1): Conv2d {
  return new Conv2d(inChannels, outChannels, 3, { stride, padding: 1, bias: false });
}

/** Halves an image and widens its channels, for what a block's result is added to. */
function downsample(inChannels: number, outChannels: number): Sequential {
  return new Sequential(
    new AvgPool2d(2, { stride: 2, ceilMode: true, countIncludePad: false }),
    new Conv2d(inChannels, outChannels, 1, { bias: false }),
    new BatchNorm2d(outChannels),
  );
}

class BasicBlock extends Module {
  conv1: Conv2d;
  bn1: BatchNorm2d;
  act1 = new ReLU({ inplace: true });
  conv2: Conv2d;
  bn2: BatchNorm2d;
  act2 = new ReLU({ inplace: true });
  downsample: TensorModule | null;

  constructor(inChannels: number, outChannels: number, stride: number) {
    super();
    this.conv1 = conv3x3(inChannels, outChannels, stride);
    this.bn1 = new BatchNorm2d(outChannels);
    this.conv2 = conv3x3(outChannels, outChannels);
    this.bn2 = new BatchNorm2d(outChannels);
    this.downsample = stride === 1 ? null : downsample(inChannels, outChannels);
  }

  override forward(x: Tensor): Tensor {
    const inner = this.act1.call(this.bn1.call(this.conv1.call(x)));
    const result = this.bn2.call(this.conv2.call(inner));
    const shortcut = this.downsample === null ? x : this.downsample.call(x);
    return this.act2.call(result.add_(shortcut));
  }
}

class Bottleneck extends Module {
  conv1: Conv2d;
  bn1: BatchNorm2d;
  act1 = new ReLU({ inplace: true });
  conv2: Conv2d;
  bn2: BatchNorm2d;
  act2 = new ReLU({ inplace: true });
  conv3: Conv2d;
  bn3: BatchNorm2d;
  act3 = new ReLU({ inplace: true });
  downsample: TensorModule;

  constructor(inChannels: number, inner: number, outChannels: number) {
    super();
    this.conv1 = new Conv2d(inChannels, inner, 1, { bias: false });
    this.bn1 = new BatchNorm2d(inner);
    this.conv2 = conv3x3(inner, inner, 2);
    this.bn2 = new BatchNorm2d(inner);
    this.conv3 = new Conv2d(inner, outChannels, 1, { bias: false });
    this.bn3 = new BatchNorm2d(outChannels);
    this.downsample = downsample(inChannels, outChannels);
  }

  override forward(x: Tensor): Tensor {
    const narrow = this.act1.call(this.bn1.call(this.conv1.call(x)));
    const mixed = this.act2.call(this.bn2.call(this.conv2.call(narrow)));
    const result = this.bn3.call(this.conv3.call(mixed));
    return this.act3.call(result.add_(this.downsample.call(x)));
  }
}

class ResNet extends Module {
  conv1 = new Sequential(
    conv3x3(3, 16, 2),
    new BatchNorm2d(16),
    new ReLU({ inplace: true }),
    conv3x3(16, 16),
    new BatchNorm2d(16),
    new ReLU({ inplace: true }),
    conv3x3(16, 32),
  );
  bn1 = new BatchNorm2d(32);
  act1 = new ReLU({ inplace: true });
  maxpool = new MaxPool2d(3, { stride: 2, padding: 1 });
  layer1 = new Sequential(new BasicBlock(32, 32, 1));
  layer2 = new Sequential(new BasicBlock(32, 48, 2));
  layer3 = new Sequential(new Bottleneck(48, 48, 192));
  layer4 = new Sequential(new BasicBlock(192, 96, 2));
  global_pool = new Sequential(new AdaptiveAvgPool2d(1), new Flatten());
  fc = new Linear(96, 10);

  /** [N, 3, H, W] → [N, 10] */
  override forward(x: Tensor): Tensor {
    const stem = this.maxpool.call(this.act1.call(this.bn1.call(this.conv1.call(x))));
    const features = this.layer4.call(this.layer3.call(this.layer2.call(this.layer1.call(stem))));
    return this.fc.call(this.global_pool.call(features));
  }
}

export const resnet: RecordedModel = {
  name: 'test_resnet',
  build: () => new ResNet(),
  loss: labelLoss,
};
