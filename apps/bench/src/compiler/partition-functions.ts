/**
 * @file The ten functions on which PyTorch's partitioners were measured.
 */
import { type Tensor, callOp, fromTypedArray, getOp } from '@tessera/tensor';
import type recorded from '../../data/torch-partition.json';

/** A function and the sizes of its inputs. */
export interface PartitionFunction {
  readonly name: keyof (typeof recorded)['functions'];
  readonly fn: (...inputs: Tensor[]) => Tensor;
  readonly shapes: readonly (readonly number[])[];
}

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
    shapes: [[1024], [64, 1024]],
    fn: (bias, y) => {
      const x = bias.add(y);
      const inner = x.mul(0.79788456).mul(x.mul(x).mul(0.044715).add(1));
      return x.mul(0.5).mul(tanh(inner).add(1));
    },
  },
  {
    name: 'mish',
    shapes: [[1024]],
    fn: (x) => x.mul(tanh(op('softplus', x, 1, 20))),
  },
  { name: 'swish', shapes: [[1024]], fn: (x) => x.mul(sigmoid(x)) },
  { name: 'hard_swish', shapes: [[1024]], fn: (x) => x.mul(relu6(x)).div(6) },
  {
    name: 'layer_norm',
    shapes: [[10, 16], [16], [16]],
    fn: (x, w, b) => op('layer_norm', x, [16], w, b, 1e-5, true),
  },
  {
    name: 'rms_norm',
    shapes: [[16, 64, 128], [128]],
    fn: (x, w) => {
      const variance = op('mean.dim', op('pow.Tensor_Scalar', x, 2), [-1], true, null);
      return w.mul(x.mul(op('rsqrt', variance.add(1e-6))));
    },
  },
  {
    name: 'softmax_mul',
    shapes: [
      [32, 64],
      [32, 64],
    ],
    fn: (x, y) => op('softmax.int', x, -1, null).mul(y),
  },
  {
    name: 'mlp',
    shapes: [
      [32, 64],
      [64, 128],
      [128, 16],
    ],
    fn: (x, w1, w2) => op('relu', x.mm(w1)).mm(w2),
  },
  {
    name: 'chain',
    shapes: [[1024], [1024]],
    fn: (x, y) => tanh(op('sin', x.mul(y)).mul(op('cos', x))).add(op('exp', y)),
  },
  {
    name: 'dropoutless_attention',
    shapes: [
      [2, 4, 16, 8],
      [2, 4, 16, 8],
      [2, 4, 16, 8],
    ],
    fn: (q, k, v) => {
      const scores = op('matmul', q, op('transpose.int', k, -2, -1)).div(Math.sqrt(8));
      return op('matmul', op('softmax.int', scores, -1, null), v);
    },
  },
];

/** Repeatable leaves that require grad. */
export function leavesOf(sample: PartitionFunction): Tensor[] {
  return sample.shapes.map((shape, k) => {
    const numel = shape.reduce((a, b) => a * b, 1);
    const values = Float32Array.from({ length: numel }, (_, i) => Math.sin(i * 12.9898 + k * 7.7));
    return fromTypedArray(values, shape).requiresGrad_();
  });
}
