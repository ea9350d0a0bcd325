/**
 * @file EfficientNet: blocks that widen, mix and narrow, with a gate per channel in the later ones.
 *
 * Names are those of timm's `EfficientNet` (`test_efficientnet`).
 *
 * @see https://arxiv.org/abs/1905.11946
 */
import {
  AdaptiveAvgPool2d,
  BatchNorm2d,
  Conv2d,
  Flatten,
  Identity,
  Linear,
  Module,
  Sequential,
  SiLU,
  Sigmoid,
  type TensorModule,
} from '@tessera/nn';
import type { Tensor } from '@tessera/tensor';
import { labelLoss } from './label-loss.js';
import type { RecordedModel } from './recorded-model.js';

/** A batch norm with its activation. */
class BatchNormAct2d extends BatchNorm2d {
  act: TensorModule;

  constructor(channels: number, act: TensorModule = new SiLU({ inplace: true })) {
    super(channels);
    this.act = act;
  }

  override forward(x: Tensor): Tensor {
    return this.act.call(super.forward(x));
  }
}

function pointwise(inChannels: number, outChannels: number): Conv2d {
  return new Conv2d(inChannels, outChannels, 1, { bias: false });
}

function spatial(inChannels: number, outChannels: number, stride: number, groups = 1): Conv2d {
  return new Conv2d(inChannels, outChannels, 3, { stride, padding: 1, groups, bias: false });
}

class ConvBnAct extends Module {
  conv: Conv2d;
  bn1: BatchNormAct2d;

  constructor(inChannels: number, outChannels: number) {
    super();
    this.conv = spatial(inChannels, outChannels, 1);
    this.bn1 = new BatchNormAct2d(outChannels);
  }

  override forward(x: Tensor): Tensor {
    return this.bn1.call(this.conv.call(x));
  }
}

/** Widens and halves in one convolution, then narrows. */
class EdgeResidual extends Module {
  conv_exp: Conv2d;
  bn1: BatchNormAct2d;
  conv_pwl: Conv2d;
  bn2: BatchNormAct2d;

  constructor(inChannels: number, inner: number, outChannels: number) {
    super();
    this.conv_exp = spatial(inChannels, inner, 2);
    this.bn1 = new BatchNormAct2d(inner);
    this.conv_pwl = pointwise(inner, outChannels);
    this.bn2 = new BatchNormAct2d(outChannels, new Identity());
  }

  override forward(x: Tensor): Tensor {
    return this.bn2.call(this.conv_pwl.call(this.bn1.call(this.conv_exp.call(x))));
  }
}

/** Gates each channel by what all channels are on average. */
class SqueezeExcite extends Module {
  conv_reduce: Conv2d;
  act1 = new SiLU({ inplace: true });
  conv_expand: Conv2d;
  gate = new Sigmoid();

  constructor(channels: number, inner: number) {
    super();
    this.conv_reduce = new Conv2d(channels, inner, 1);
    this.conv_expand = new Conv2d(inner, channels, 1);
  }

  override forward(x: Tensor): Tensor {
    const average = x.mean([2, 3], { keepdim: true });
    const inner = this.act1.call(this.conv_reduce.call(average));
    return x.mul(this.gate.call(this.conv_expand.call(inner)));
  }
}

/** Widens, mixes each channel by itself, gates and narrows. */
class InvertedResidual extends Module {
  conv_pw: Conv2d;
  bn1: BatchNormAct2d;
  conv_dw: Conv2d;
  bn2: BatchNormAct2d;
  se: SqueezeExcite;
  conv_pwl: Conv2d;
  bn3: BatchNormAct2d;

  constructor(inChannels: number, inner: number, squeezed: number, outChannels: number) {
    super();
    this.conv_pw = pointwise(inChannels, inner);
    this.bn1 = new BatchNormAct2d(inner);
    this.conv_dw = spatial(inner, inner, 2, inner);
    this.bn2 = new BatchNormAct2d(inner);
    this.se = new SqueezeExcite(inner, squeezed);
    this.conv_pwl = pointwise(inner, outChannels);
    this.bn3 = new BatchNormAct2d(outChannels, new Identity());
  }

  override forward(x: Tensor): Tensor {
    const wide = this.bn1.call(this.conv_pw.call(x));
    const gated = this.se.call(this.bn2.call(this.conv_dw.call(wide)));
    return this.bn3.call(this.conv_pwl.call(gated));
  }
}

class EfficientNet extends Module {
  conv_stem = spatial(3, 24, 2);
  bn1 = new BatchNormAct2d(24);
  blocks = new Sequential(
    new Sequential(new ConvBnAct(24, 16)),
    new Sequential(new EdgeResidual(16, 64, 24)),
    new Sequential(new EdgeResidual(24, 96, 32)),
    new Sequential(new InvertedResidual(32, 128, 8, 48)),
    new Sequential(new InvertedResidual(48, 192, 12, 64)),
  );
  conv_head = pointwise(64, 256);
  bn2 = new BatchNormAct2d(256);
  global_pool = new Sequential(new AdaptiveAvgPool2d(1), new Flatten());
  classifier = new Linear(256, 10);

  /** [N, 3, H, W] → [N, 10] */
  override forward(x: Tensor): Tensor {
    const features = this.blocks.call(this.bn1.call(this.conv_stem.call(x)));
    return this.classifier.call(
      this.global_pool.call(this.bn2.call(this.conv_head.call(features))),
    );
  }
}

export const efficientnet: RecordedModel = {
  name: 'test_efficientnet',
  build: () => new EfficientNet(),
  loss: labelLoss,
};
