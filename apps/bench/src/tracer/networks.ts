/**
 * @file ResNet-18 and GPT-2 (12 layers) with few channels: their JavaScript is that of the real models, and what
 * they compute costs little.
 */
import {
  AdaptiveAvgPool2d,
  BatchNorm2d,
  Conv2d,
  Embedding,
  Flatten,
  LayerNorm,
  Linear,
  MaxPool2d,
  Module,
  ModuleList,
  ReLU,
  Sequential,
  functional as F,
} from '@tessera/nn';
import { type Tensor, arange } from '@tessera/tensor';

class BasicBlock extends Module {
  conv1: Conv2d;
  bn1: BatchNorm2d;
  relu: ReLU = new ReLU();
  conv2: Conv2d;
  bn2: BatchNorm2d;
  downsample: Sequential | null;

  constructor(inputs: number, channels: number, stride: number) {
    super();
    this.conv1 = new Conv2d(inputs, channels, 3, { stride, padding: 1, bias: false });
    this.bn1 = new BatchNorm2d(channels);
    this.conv2 = new Conv2d(channels, channels, 3, { padding: 1, bias: false });
    this.bn2 = new BatchNorm2d(channels);
    this.downsample =
      stride === 1
        ? null
        : new Sequential(
            new Conv2d(inputs, channels, 1, { stride, bias: false }),
            new BatchNorm2d(channels),
          );
  }

  forward(x: Tensor): Tensor {
    const y = this.relu.call(this.bn1.call(this.conv1.call(x)));
    const z = this.bn2.call(this.conv2.call(y));
    const shortcut = this.downsample === null ? x : (this.downsample.call(x) as Tensor);
    return this.relu.call(z.add(shortcut));
  }
}

/** ResNet-18: `[N, 3, H, W] → [N, 10]`. */
export class ResNet18 extends Module {
  stem: Sequential;
  blocks: Sequential;
  head: Sequential;

  constructor(width: number) {
    super();
    this.stem = new Sequential(
      new Conv2d(3, width, 7, { stride: 2, padding: 3, bias: false }),
      new BatchNorm2d(width),
      new ReLU(),
      new MaxPool2d(3, { stride: 2, padding: 1 }),
    );
    const blocks = [1, 2, 4, 8].flatMap((times, i) => [
      new BasicBlock(i === 0 ? width : (width * times) / 2, width * times, i === 0 ? 1 : 2),
      new BasicBlock(width * times, width * times, 1),
    ]);
    this.blocks = new Sequential(...blocks);
    this.head = new Sequential(new AdaptiveAvgPool2d(1), new Flatten(), new Linear(8 * width, 10));
  }

  forward(x: Tensor): Tensor {
    return this.head.call(this.blocks.call(this.stem.call(x))) as Tensor;
  }
}

class TransformerBlock extends Module {
  norm1: LayerNorm;
  qkv: Linear;
  project: Linear;
  norm2: LayerNorm;
  up: Linear;
  down: Linear;

  constructor(
    private readonly width: number,
    private readonly heads: number,
  ) {
    super();
    this.norm1 = new LayerNorm(width);
    this.qkv = new Linear(width, 3 * width);
    this.project = new Linear(width, width);
    this.norm2 = new LayerNorm(width);
    this.up = new Linear(width, 4 * width);
    this.down = new Linear(4 * width, width);
  }

  forward(x: Tensor): Tensor {
    const [batch, length] = x.shape as [number, number];
    const split = (t: Tensor): Tensor =>
      t.view([batch, length, this.heads, this.width / this.heads]).transpose(1, 2);
    const [q, k, v] = this.qkv.call(this.norm1.call(x)).chunk(3, -1).map(split);
    const mixed = F.scaledDotProductAttention(q!, k!, v!, { isCausal: true });
    const y = x.add(this.project.call(mixed.transpose(1, 2).reshape([batch, length, this.width])));
    return y.add(this.down.call(F.gelu(this.up.call(this.norm2.call(y)), { approximate: 'tanh' })));
  }
}

/** GPT-2: token numbers `[N, T] → [N, T, vocabulary]`. */
export class Gpt2 extends Module {
  tokens: Embedding;
  positions: Embedding;
  blocks: ModuleList;
  norm: LayerNorm;

  constructor(layers: number, width: number, heads: number, vocabulary: number, positions = 64) {
    super();
    this.tokens = new Embedding(vocabulary, width);
    this.positions = new Embedding(positions, width);
    this.blocks = new ModuleList(
      Array.from({ length: layers }, () => new TransformerBlock(width, heads)),
    );
    this.norm = new LayerNorm(width);
  }

  forward(ids: Tensor): Tensor {
    let x = this.tokens
      .call(ids)
      .add(this.positions.call(arange(ids.shape[1]!, { device: ids.device })));
    for (const block of this.blocks) x = (block as TransformerBlock).call(x);
    return F.linear(this.norm.call(x), this.tokens.weight);
  }
}
