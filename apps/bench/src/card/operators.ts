/**
 * @file Rows of single operators and chains of them; functions and shapes are those that PyTorch was measured with.
 */
import { compile } from '@tessera/compile';
import { functional as F } from '@tessera/nn';
import { type DType, type Tensor, grad, noGrad, randint } from '@tessera/tensor';
import { type CardWorkload, leaf, normal } from './card-workload.js';

type Fn = (...inputs: Tensor[]) => Tensor;

/** Runs the compiled function on the inputs without gradients. */
function forward(fn: Fn, inputs: readonly Tensor[]): () => void {
  const compiled = compile(fn);
  return () => noGrad(() => compiled(...inputs).dispose());
}

/** The gradients of `fn`'s result for all inputs that want one, as one compiled function. */
function withBackward(fn: Fn, inputs: readonly Tensor[]): () => void {
  const wanted = inputs.flatMap((x, i) => (x.requiresGrad ? [i] : []));
  const compiled = compile((...given: Tensor[]) =>
    grad(
      fn(...given),
      wanted.map((i) => given[i]!),
    ),
  );
  return () => {
    for (const gradient of compiled(...inputs)) gradient?.dispose();
  };
}

const shape = <T>(isSmall: boolean, small: T, full: T): T => (isSmall ? small : full);

function matmul(size: number, dtype: DType, goal: number | null): CardWorkload {
  const code = { float32: 'f32', float16: 'f16', bfloat16: 'bf16' }[dtype as 'float32'];
  return {
    name: `matmul_${code}_${size}`,
    about: `${size}×${size} by ${size}×${size}, ${dtype}`,
    goal,
    prepare(isSmall) {
      const n = isSmall ? 32 : size;
      return forward((x, y) => x.matmul(y), [normal([n, n], dtype), normal([n, n], dtype)]);
    },
  };
}

interface AttentionRow {
  readonly name: string;
  readonly full: readonly number[];
  readonly dtype: DType;
  readonly goal: number | null;
  readonly trains?: boolean;
}

function attention({ name, full, dtype, goal, trains = false }: AttentionRow): CardWorkload {
  return {
    name,
    about: `causal attention of ${full.join('×')}, ${dtype}${trains ? ', forward and backward' : ''}`,
    goal,
    prepare(isSmall) {
      const sizes = isSmall ? [1, 2, 16, 8] : full;
      const fn: Fn = (q, k, v) => F.scaledDotProductAttention(q!, k!, v!, { isCausal: true });
      const make = trains ? leaf : normal;
      const inputs = [0, 1, 2].map(() => make(sizes, dtype));
      return trains ? withBackward((...qkv) => fn(...qkv).sum(), inputs) : forward(fn, inputs);
    },
  };
}

const HEADS = [4, 12, 1024, 64];
const LONG_HEADS = [1, 32, 4096, 128];

/** See the file header. */
export const OPERATOR_ROWS: readonly CardWorkload[] = [
  {
    name: 'pointwise_chain',
    about: 'x·σ(x)·tanh(x) + y, 2²⁷ elements',
    goal: null,
    prepare(isSmall) {
      const n = shape(isSmall, 2 ** 8, 2 ** 27);
      return forward((x, y) => x.mul(x.sigmoid()).mul(x.tanh()).add(y), [normal([n]), normal([n])]);
    },
  },
  {
    name: 'sum_all',
    about: 'the sum of 2²⁷ elements',
    goal: 130,
    prepare: (isSmall) => forward((x) => x.sum(), [normal([shape(isSmall, 2 ** 8, 2 ** 27)])]),
  },
  {
    name: 'gelu_bias',
    about: 'gelu(bias + y) by its formula with tanh, 8192×4096',
    goal: 75,
    prepare(isSmall) {
      const [rows, columns] = shape(isSmall, [4, 16], [8192, 4096]) as [number, number];
      const gelu = (x: Tensor): Tensor =>
        x.mul(0.5).mul(x.mul(0.79788456).mul(x.mul(x).mul(0.044715).add(1)).tanh().add(1));
      return forward((bias, y) => gelu(bias.add(y)), [normal([columns]), normal([rows, columns])]);
    },
  },
  {
    name: 'layer_norm',
    about: '16384×1024 with weight and bias',
    goal: null,
    prepare(isSmall) {
      const [rows, columns] = shape(isSmall, [4, 16], [16384, 1024]) as [number, number];
      return forward(
        (x, weight, bias) => F.layerNorm(x, [columns], { weight, bias }),
        [normal([rows, columns]), normal([columns]), normal([columns])],
      );
    },
  },
  {
    name: 'layer_norm_fwd_bwd',
    about: 'the same, then sin and sum, with all gradients',
    goal: null,
    prepare(isSmall) {
      const [rows, columns] = shape(isSmall, [4, 16], [16384, 1024]) as [number, number];
      return withBackward(
        (x, weight, bias) => F.layerNorm(x, [columns], { weight, bias }).sin().sum(),
        [leaf([rows, columns]), leaf([columns]), leaf([columns])],
      );
    },
  },
  {
    name: 'rms_norm_fwd_bwd',
    about: '256×256×1024, by its formula, with all gradients',
    goal: 257,
    prepare(isSmall) {
      const sizes = shape(isSmall, [2, 2, 16], [256, 256, 1024]);
      return withBackward(
        (x, weight) =>
          weight.mul(x.mul(x.square().mean(-1, { keepdim: true }).add(1e-6).rsqrt())).sum(),
        [leaf(sizes), leaf([sizes[2]!])],
      );
    },
  },
  {
    name: 'softmax',
    about: 'rows of 16384×2048',
    goal: null,
    prepare: (isSmall) =>
      forward((x) => x.softmax(-1), [normal(shape(isSmall, [4, 16], [16384, 2048]))]),
  },
  {
    name: 'cross_entropy_fwd_bwd',
    about: '4096 rows of 50257 classes, with the gradient',
    goal: 900,
    prepare(isSmall) {
      const [rows, classes] = shape(isSmall, [4, 16], [4096, 50257]) as [number, number];
      const labels = randint(0, classes, [rows], { device: 'wgpu' });
      return withBackward((x) => F.crossEntropy(x, labels), [leaf([rows, classes])]);
    },
  },
  matmul(1024, 'float32', 65),
  matmul(2048, 'float32', 379),
  matmul(4096, 'float32', 2989),
  matmul(4096, 'float16', 500),
  matmul(4096, 'bfloat16', 500),
  {
    name: 'linear_gelu',
    about: '4096×1024 by 1024×4096, bias, gelu',
    goal: null,
    prepare(isSmall) {
      const [rows, inputs, outputs] = shape(isSmall, [8, 16, 8], [4096, 1024, 4096]) as [
        number,
        number,
        number,
      ];
      return forward(
        (x, weight, bias) => F.gelu(F.linear(x, weight, bias)),
        [normal([rows, inputs]), normal([outputs, inputs]), normal([outputs])],
      );
    },
  },
  {
    name: 'transpose_copy',
    about: 'x.t().contiguous() + 1, 8192²',
    goal: null,
    prepare(isSmall) {
      const n = shape(isSmall, 16, 8192);
      return forward((x) => x.t().contiguous().add(1), [normal([n, n])]);
    },
  },
  {
    name: 'conv3x3_bn_relu',
    about: '32×64×56², 64 channels out, with running statistics',
    goal: null,
    prepare(isSmall) {
      const [batch, channels, side] = shape(isSmall, [1, 4, 8], [32, 64, 56]) as [
        number,
        number,
        number,
      ];
      return forward(
        (x, weight, mean, variance) =>
          F.relu(
            F.batchNorm(F.conv2d(x, weight, { padding: 1 }), {
              runningMean: mean,
              runningVar: variance,
            }),
          ),
        [
          normal([batch, channels, side, side]),
          normal([channels, channels, 3, 3]),
          normal([channels]),
          normal([channels]).abs(),
        ],
      );
    },
  },
  attention({ name: 'sdpa_float32_4x12x1024x64', full: HEADS, dtype: 'float32', goal: 290 }),
  attention({
    name: 'sdpa_fb_float32_4x12x1024x64',
    full: HEADS,
    dtype: 'float32',
    goal: 975,
    trains: true,
  }),
  attention({ name: 'sdpa_float16_4x12x1024x64', full: HEADS, dtype: 'float16', goal: 100 }),
  attention({ name: 'sdpa_float32_1x32x4096x128', full: LONG_HEADS, dtype: 'float32', goal: null }),
  attention({ name: 'sdpa_float16_1x32x4096x128', full: LONG_HEADS, dtype: 'float16', goal: null }),
  {
    name: 'tiny_call',
    about: 'x·2 + 1 on 16 elements',
    goal: 15,
    prepare: () => forward((x) => x.mul(2).add(1), [normal([16])]),
  },
];
