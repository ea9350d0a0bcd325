/**
 * @file Activations, norms, losses and indexing under the partitioners.
 */
import { functional as F } from '@tessera/nn';
import * as t from '@tessera/tensor';
import * as ops from '@tessera/tensor/internal';
import type { PartitionFunction } from './partition-function.js';

const V = [64, 256];
const ROWS = [64];
const image = [8, 16, 8, 8];
const keepdim = { keepdim: true };

/** Elementwise functions and those along a dimension. */
const elementwise: readonly PartitionFunction[] = [
  { name: 'elu', inputs: [V], fn: (x) => t.elu(x) },
  { name: 'glu', inputs: [V], fn: (x) => t.glu(x, -1) },
  { name: 'gelu_tanh', inputs: [V], fn: (x) => t.gelu(x, { approximate: 'tanh' }) },
  { name: 'prelu', inputs: [V, [1]], fn: (x, w) => t.prelu(x, w) },
  { name: 'squared_relu', inputs: [V], fn: (x) => x.relu().pow(2) },
  { name: 'tanh_chain', inputs: [V], fn: (x) => x.tanh().tanh().tanh() },
  { name: 'where', inputs: [V, V, { mask: V }], fn: (x, y, m) => t.where(m, x.sin(), y.mul(y)) },
  { name: 'pow_tensor', inputs: [V, V], fn: (x, y) => x.abs().add(1).pow(y) },
  { name: 'div_chain', inputs: [V, V], fn: (x, y) => x.div(y.abs().add(1)).div(x.abs().add(1)) },
  {
    name: 'expand_mul',
    inputs: [
      [64, 1],
      [1, 256],
    ],
    fn: (x, y) => x.mul(y).sin(),
  },
  { name: 'inplace_mul', inputs: [V], fn: (x) => x.sin().mul_(x).add_(1).cos() },
  {
    name: 'dropout_gelu',
    inputs: [V],
    fn: (x) => t.dropout(t.gelu(x), { p: 0.1, training: true }),
  },
  { name: 'cumsum', inputs: [V], fn: (x) => x.sin().cumsum(1).tanh() },
  { name: 'logsumexp', inputs: [V], fn: (x) => t.logsumexp(x, 1) },
  { name: 'norm_exp_sum', inputs: [V], fn: (x) => x.exp().div(x.exp().sum(-1, keepdim)) },
  { name: 'max_dim', inputs: [[512, 8]], fn: (x) => t.max(x.sin(), -1)[0].exp() },
  { name: 'topk', inputs: [V], fn: (x) => x.sin().topk(4, { dim: -1 })[0].exp() },
  {
    name: 'gather',
    inputs: [V, { indices: [64, 8], below: 256 }],
    fn: (x, i) => x.sin().gather(1, i).exp(),
  },
  { name: 'cat', inputs: [V, V], fn: (x, y) => t.cat([x.sin(), y.cos()], 1).tanh() },
  {
    name: 'split',
    inputs: [V],
    fn: (x) => {
      const [a, b, c, d] = x.split(64, 1) as [t.Tensor, t.Tensor, t.Tensor, t.Tensor];
      return a.sin().mul(b.cos()).add(c.exp().mul(d));
    },
  },
  {
    name: 'slice_assign',
    inputs: [V],
    fn: (x) => t.cat([x.narrow(1, 0, 1).exp(), x.narrow(1, 1, 255).sin()], 1),
  },
];

const norms: readonly PartitionFunction[] = [
  {
    name: 'batch_norm_relu',
    inputs: [image, [16], [16]],
    fn: (x, weight, bias) => t.relu(ops.batchNorm(x, { weight, bias, training: true })),
  },
  {
    name: 'group_norm',
    inputs: [[4, 16, 8, 8], [16], [16]],
    fn: (x, weight, bias) => ops.groupNorm(x, 4, { weight, bias }),
  },
  {
    name: 'layer_norm_residual',
    inputs: [[32, 64], [32, 64], [64], [64]],
    fn: (x, y, weight, bias) => ops.layerNorm(x.add(y), [64], { weight, bias }).add(x),
  },
  {
    name: 'std_norm',
    inputs: [V],
    fn: (x) => x.sub(x.mean(-1, keepdim)).div(t.std(x, -1, keepdim).add(1e-5)),
  },
  { name: 'normalize', inputs: [V], fn: (x) => F.normalize(x, { dim: -1 }) },
  { name: 'conv_relu_pool', inputs: [[2, 3, 16, 16], [8, 3, 3, 3], [8]], fn: convReluPool },
];

function convReluPool(x: t.Tensor, w: t.Tensor, bias: t.Tensor): t.Tensor {
  return ops.maxPool2d(t.relu(ops.conv2d(x, w, { bias })), 2);
}

const labels = { indices: ROWS, below: 256 };
const losses: readonly PartitionFunction[] = [
  { name: 'nll', inputs: [V, labels], fn: (x, y) => ops.nllLoss(t.logSoftmax(x, -1), y) },
  {
    name: 'cross_entropy_smooth',
    inputs: [V, labels],
    fn: (x, y) => ops.crossEntropy(x, y, { labelSmoothing: 0.1 }),
  },
  { name: 'smooth_l1', inputs: [V, { fixed: V }], fn: (x, y) => ops.smoothL1Loss(x, y) },
  { name: 'huber', inputs: [V, { fixed: V }], fn: (x, y) => ops.huberLoss(x, y) },
  {
    name: 'bce_logits',
    inputs: [V, { fixed: V }],
    fn: (x, y) => ops.binaryCrossEntropyWithLogits(x, y),
  },
  {
    name: 'kl_div',
    inputs: [V, { fixed: V }],
    fn: (x, y) => F.klDiv(t.logSoftmax(x, -1), y, { reduction: 'batchmean' }),
  },
  {
    name: 'cosine_similarity',
    inputs: [V, V],
    fn: (x, y) => t.cosineSimilarity(x, y, { dim: -1 }),
  },
];

/** All of them, by their recorded names. */
export const LAYER_FUNCTIONS: readonly PartitionFunction[] = [...elementwise, ...norms, ...losses];
