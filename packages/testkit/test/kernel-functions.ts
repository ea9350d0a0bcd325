/**
 * @file The functions whose generated kernels PyTorch's compiler was counted on, and its counts.
 *
 * `torch` is the smaller of its counts on its CPU and its GPU target; calls of libraries and templates
 * (matrix products, convolutions, fused attention) are not counted there, nor products here.
 */
import {
  BatchNorm2d,
  Conv2d,
  LayerNorm,
  Linear,
  Module,
  Sequential,
  functional as F,
} from '@tessera/nn';
import { type Tensor, cat, randn, rsqrt, softmax, tensor } from '@tessera/tensor';
import { moreKernelFunctions } from './kernel-functions-more.js';

/** A function, what it runs on, and how many kernels it may take. */
export interface KernelFunction {
  readonly name: string;
  /** The smaller of PyTorch's two counts. */
  readonly torch: number;
  /** Whether backward is counted too. */
  readonly training: boolean;
  /** Makes the function and its inputs; floats require grad when it trains. */
  readonly make: () => {
    readonly fn: (...inputs: Tensor[]) => Tensor | readonly Tensor[];
    readonly inputs: readonly Tensor[];
    /** Whose parameters the function reads. */
    readonly module?: Module;
  };
  /** Kernels here, where there are more, and why. */
  readonly exception?: {
    readonly kernels: number;
    /** The only device that it is for. */
    readonly on?: 'cpu';
    readonly reason: string;
  };
}

const x = (...sizes: number[]): Tensor => randn(sizes);

function geluTanh(value: Tensor): Tensor {
  const inner = value.mul(0.79788456).mul(value.mul(value).mul(0.044715).add(1));
  return value.mul(0.5).mul(inner.tanh().add(1));
}

/** A block of a transformer: attention and a wide layer, each behind a norm. */
class Block extends Module {
  readonly first = new LayerNorm(64);
  readonly qkv = new Linear(64, 192);
  readonly out = new Linear(64, 64);
  readonly second = new LayerNorm(64);
  readonly wide = new Linear(64, 256);
  readonly narrow = new Linear(256, 64);

  override forward(value: Tensor): Tensor {
    const [batch, length, width] = value.sizes as [number, number, number];
    const [q, k, v] = this.qkv
      .call(this.first.call(value))
      .split(width, -1)
      .map((part) => part.view([batch, length, 4, width / 4]).transpose(1, 2)) as [
      Tensor,
      Tensor,
      Tensor,
    ];
    const attended = F.scaledDotProductAttention(q, k, v, { isCausal: true });
    const joined = attended.transpose(1, 2).reshape([batch, length, width]);
    const residual = value.add(this.out.call(joined));
    const hidden = F.gelu(this.wide.call(this.second.call(residual)));
    return residual.add(this.narrow.call(hidden));
  }
}

function blockOf(): ReturnType<KernelFunction['make']> {
  const block = new Block();
  return { fn: (value) => block.call(value!), inputs: [x(2, 16, 64)], module: block };
}

const layerNorm = (value: Tensor, weight: Tensor, bias: Tensor): Tensor =>
  F.layerNorm(value, [96], { weight, bias });

/** The functions, by their recorded names. */
export const KERNEL_FUNCTIONS: readonly KernelFunction[] = [
  {
    name: 'pointwise_chain',
    torch: 1,
    training: false,
    make: () => ({
      fn: (a, b) => a!.mul(a!.sigmoid()).mul(a!.tanh()).add(b!),
      inputs: [x(37, 64), x(37, 64)],
    }),
  },
  {
    name: 'softmax',
    torch: 1,
    training: false,
    make: () => ({ fn: (a) => softmax(a!, -1), inputs: [x(32, 100)] }),
  },
  {
    name: 'layer_norm',
    torch: 1,
    training: false,
    make: () => ({ fn: (a, w, b) => layerNorm(a!, w!, b!), inputs: [x(24, 96), x(96), x(96)] }),
  },
  {
    name: 'rms_norm',
    torch: 1,
    training: false,
    make: () => ({
      fn: (a, w) => w!.mul(a!.mul(rsqrt(a!.pow(2).mean(-1, { keepdim: true }).add(1e-6)))),
      inputs: [x(4, 8, 64), x(64)],
    }),
  },
  {
    name: 'layer_norm_fwd_bwd',
    torch: 5,
    training: true,
    make: () => ({ fn: (a, w, b) => layerNorm(a!, w!, b!), inputs: [x(24, 96), x(96), x(96)] }),
  },
  {
    name: 'gelu_bias_fwd_bwd',
    torch: 3,
    training: true,
    make: () => ({ fn: (bias, y) => geluTanh(bias!.add(y!)), inputs: [x(64), x(32, 64)] }),
  },
  {
    name: 'cross_entropy',
    torch: 2,
    training: false,
    make: () => ({
      fn: (a, labels) => F.crossEntropy(a!, labels!),
      inputs: [
        x(32, 50),
        tensor(
          Array.from({ length: 32 }, (_, i) => (i * 7) % 50),
          { dtype: 'int64' },
        ),
      ],
    }),
  },
  {
    name: 'two_reductions',
    torch: 1,
    training: false,
    make: () => ({ fn: (a) => [a!.sum(-1), a!.mul(a!).sum(-1)], inputs: [x(32, 100)] }),
  },
  {
    name: 'horizontal',
    torch: 3,
    training: false,
    make: () => ({
      fn: (a, b, c) => [a!.mul(2).add(1), b!.tanh(), c!.sigmoid()],
      inputs: [x(64), x(32, 8), x(5, 7)],
    }),
  },
  {
    name: 'linear_relu_linear',
    torch: 1,
    training: false,
    make: () => ({
      fn: (a, w1, b1, w2, b2) => F.linear(F.relu(F.linear(a!, w1!, b1!)), w2!, b2!),
      inputs: [x(32, 64), x(128, 64), x(128), x(16, 128), x(16)],
    }),
  },
  {
    name: 'conv_bn_relu_eval',
    torch: 3,
    training: false,
    make: () => {
      const module = new Sequential(new Conv2d(3, 8, 3, { padding: 1 }), new BatchNorm2d(8)).eval();
      return { fn: (a) => F.relu(module.call(a!)), inputs: [x(2, 3, 12, 12)], module };
    },
  },
  {
    name: 'attention_unfused',
    torch: 0,
    training: false,
    make: () => ({
      fn: (q, k, v) => softmax(q!.matmul(k!.transpose(-2, -1)).mul(0.25), -1).matmul(v!),
      inputs: [x(2, 4, 16, 16), x(2, 4, 16, 16), x(2, 4, 16, 16)],
    }),
    exception: {
      kernels: 1,
      on: 'cpu',
      reason:
        'PyTorch calls a library for attention on the CPU, which it does not count (on the GPU it generates 1, too): the softmax between the products is a kernel here.',
    },
  },
  {
    name: 'cat_pointwise',
    torch: 1,
    training: false,
    make: () => ({
      fn: (a, b) => cat([a!.sin(), b!.cos()], 1).mul(2),
      inputs: [x(8, 16), x(8, 4)],
    }),
  },
  {
    name: 'transpose_add',
    torch: 1,
    training: false,
    make: () => ({ fn: (a, b) => a!.add(b!.t()), inputs: [x(8, 16), x(16, 8)] }),
  },
  {
    name: 'adamw_like',
    torch: 1,
    training: false,
    make: () => ({
      fn: (p, g, m, v) => {
        const m2 = m!.mul(0.9).add(g!.mul(0.1));
        const v2 = v!.mul(0.999).add(g!.mul(g!).mul(0.001));
        return [p!.mul(0.99).sub(m2.div(v2.sqrt().add(1e-8)).mul(1e-3)), m2, v2];
      },
      inputs: [x(50, 20), x(50, 20), x(50, 20), x(50, 20).abs()],
    }),
  },
  {
    name: 'mlp_train',
    torch: 3,
    training: true,
    make: () => ({
      fn: (a, w1, b1, w2, b2) => F.linear(F.relu(F.linear(a!, w1!, b1!)), w2!, b2!),
      inputs: [x(32, 64), x(128, 64), x(128), x(16, 128), x(16)],
    }),
  },
  { name: 'transformer_block', torch: 4, training: false, make: blockOf },
  { name: 'transformer_block_train', torch: 12, training: true, make: blockOf },
  ...moreKernelFunctions(x),
];
