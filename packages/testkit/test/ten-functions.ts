/**
 * @file The ten functions whose kernel counts PyTorch's compiler was measured on, and those counts.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, fromTypedArray, rsqrt, tensor } from '@tessera/tensor';

/** A function, its inputs, and the most kernels its forward may take (the smaller of PyTorch's two). */
export interface Sample {
  readonly name: string;
  readonly kernels: number;
  readonly fn: (...inputs: Tensor[]) => Tensor | Tensor[];
  /** Fresh float inputs that require grad, then others. */
  readonly inputs: () => Tensor[];
}

let seed = 0;

/** Repeatable values in [-1, 1], different for every call. */
function values(sizes: readonly number[]): Tensor {
  const numel = sizes.reduce((a, b) => a * b, 1);
  seed++;
  return fromTypedArray(
    Float32Array.from({ length: numel }, (_, i) => Math.sin((i + 1) * 12.9898 + seed * 78.233)),
    sizes,
  );
}

function leaf(...sizes: number[]): Tensor {
  return values(sizes).requiresGrad_();
}

export const SAMPLES: readonly Sample[] = [
  {
    name: 'pointwise_chain',
    kernels: 1,
    fn: (x, y) => x.mul(x.sigmoid()).mul(x.tanh()).add(y),
    inputs: () => [leaf(37, 64), leaf(37, 64)],
  },
  {
    name: 'gelu_bias',
    kernels: 1,
    fn: (bias, y) => {
      const x = bias.add(y);
      return x.mul(0.5).mul(x.mul(0.79788456).mul(x.mul(x).mul(0.044715).add(1)).tanh().add(1));
    },
    inputs: () => [leaf(64), leaf(32, 64)],
  },
  { name: 'softmax', kernels: 1, fn: (x) => F.softmax(x, -1), inputs: () => [leaf(32, 100)] },
  {
    name: 'layer_norm',
    kernels: 1,
    fn: (x, w, b) => F.layerNorm(x, [96], { weight: w, bias: b } as never),
    inputs: () => [leaf(24, 96), leaf(96), leaf(96)],
  },
  {
    name: 'rms_norm',
    kernels: 1,
    fn: (x, w) => w.mul(x.mul(rsqrt(x.pow(2).mean(-1, { keepdim: true }).add(1e-6)))),
    inputs: () => [leaf(4, 8, 64), leaf(64)],
  },
  {
    name: 'cross_entropy',
    kernels: 2,
    fn: (x, t) => F.crossEntropy(x, t),
    inputs: () => [
      leaf(32, 50),
      tensor(
        Array.from({ length: 32 }, (_, i) => (i * 7) % 50),
        { dtype: 'int64' },
      ),
    ],
  },
  {
    name: 'two_reductions',
    kernels: 1,
    fn: (x) => [x.sum(-1), x.mul(x).sum(-1)],
    inputs: () => [leaf(32, 100)],
  },
  {
    name: 'horizontal',
    kernels: 3,
    fn: (a, b, c) => [a.mul(2).add(1), b.tanh(), c.sigmoid()],
    inputs: () => [leaf(64), leaf(32, 8), leaf(5, 7)],
  },
  {
    name: 'linear_relu_linear',
    kernels: 1,
    fn: (x, w1, b1, w2, b2) => F.linear(F.relu(F.linear(x, w1, b1)), w2, b2),
    inputs: () => [leaf(32, 64), leaf(128, 64), leaf(128), leaf(16, 128), leaf(16)],
  },
  {
    name: 'adamw_like',
    kernels: 1,
    fn: (p, g, m, v) => {
      const m2 = m.mul(0.9).add(g.mul(0.1));
      const v2 = v.mul(v).mul(0.999).add(g.mul(g).mul(0.001));
      return [p.mul(0.99).sub(m2.div(v2.sqrt().add(1e-8)).mul(1e-3)), m2, v2];
    },
    inputs: () => [leaf(50, 20), leaf(50, 20), leaf(50, 20), leaf(50, 20)],
  },
];
