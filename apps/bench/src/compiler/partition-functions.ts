/**
 * @file The functions on which PyTorch's partitioners were measured: ten small ones, layers, and networks.
 */
import { type Tensor, callOp, getOp } from '@tessera/tensor';
import type { PartitionFunction } from './partition-function.js';
import { LAYER_FUNCTIONS } from './partition-layers.js';
import { NETWORK_FUNCTIONS } from './partition-networks.js';

function op(name: string, ...args: readonly unknown[]): Tensor {
  return callOp(getOp(`aten::${name}`), args) as Tensor;
}

const sigmoid = (x: Tensor): Tensor => op('sigmoid', x);
const tanh = (x: Tensor): Tensor => op('tanh', x);
const relu6 = (x: Tensor): Tensor => op('clamp', x.add(3), 0, 6);

/** The functions, by their recorded names. */
export const PARTITION_FUNCTIONS: readonly PartitionFunction[] = [
  {
    name: 'gelu_bias',
    inputs: [[1024], [64, 1024]],
    fn: (bias, y) => {
      const x = bias.add(y);
      const inner = x.mul(0.79788456).mul(x.mul(x).mul(0.044715).add(1));
      return x.mul(0.5).mul(tanh(inner).add(1));
    },
  },
  {
    name: 'mish',
    inputs: [[1024]],
    fn: (x) => x.mul(tanh(op('softplus', x, 1, 20))),
  },
  { name: 'swish', inputs: [[1024]], fn: (x) => x.mul(sigmoid(x)) },
  { name: 'hard_swish', inputs: [[1024]], fn: (x) => x.mul(relu6(x)).div(6) },
  {
    name: 'layer_norm',
    inputs: [[10, 16], [16], [16]],
    fn: (x, w, b) => op('layer_norm', x, [16], w, b, 1e-5, true),
  },
  {
    name: 'rms_norm',
    inputs: [[16, 64, 128], [128]],
    fn: (x, w) => {
      const variance = op('mean.dim', op('pow.Tensor_Scalar', x, 2), [-1], true, null);
      return w.mul(x.mul(op('rsqrt', variance.add(1e-6))));
    },
  },
  {
    name: 'softmax_mul',
    inputs: [
      [32, 64],
      [32, 64],
    ],
    fn: (x, y) => op('softmax.int', x, -1, null).mul(y),
  },
  {
    name: 'mlp',
    inputs: [
      [32, 64],
      [64, 128],
      [128, 16],
    ],
    fn: (x, w1, w2) => op('relu', x.mm(w1)).mm(w2),
  },
  {
    name: 'chain',
    inputs: [[1024], [1024]],
    fn: (x, y) => tanh(op('sin', x.mul(y)).mul(op('cos', x))).add(op('exp', y)),
  },
  {
    name: 'dropoutless_attention',
    inputs: [
      [2, 4, 16, 8],
      [2, 4, 16, 8],
      [2, 4, 16, 8],
    ],
    fn: (q, k, v) => {
      const scores = op('matmul', q, op('transpose.int', k, -2, -1)).div(Math.sqrt(8));
      return op('matmul', op('softmax.int', scores, -1, null), v);
    },
  },
  ...LAYER_FUNCTIONS,
  ...NETWORK_FUNCTIONS,
];
