/**
 * @file Quantized operators of the `com.microsoft` domain: whole numbers in and out, computed in float32 between.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, cat, where } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';
import { asMatrix, range } from './like.js';
import { averagePool, maxPool } from './pool.js';
import { quantization } from './quantize.js';
import { real, rounded } from './scaling.js';

type Unary = (x: Tensor, call: NodeCall) => Tensor;
type Binary = (a: Tensor, b: Tensor) => Tensor;

const unary = (fn: Unary) => (call: NodeCall) => rounded(call, fn(real(call, 0), call), 3);
const binary = (fn: Binary) => (call: NodeCall) =>
  rounded(call, fn(real(call, 0), real(call, 3)), 6);

/** The mean over all but the first dimension and the channels. */
function globalAverage(x: Tensor, call: NodeCall): Tensor {
  const first = call.flag('channels_last') ? 1 : 2;
  const dims = Array.from({ length: x.ndim - 2 }, (_, i) => first + i);
  return x.mean(dims, { keepdim: true });
}

/** Inputs are scale and zero point of the result, then x, scale and zero point of each part. */
function concat(call: NodeCall): Tensor {
  const count = (call.inputs.length - 2) / 3;
  const parts = Array.from({ length: count }, (_, i) => real(call, 2 + 3 * i));
  return rounded(call, cat(parts, call.int('axis')), 0, 2);
}

/** Softmax along an axis; for operator sets before 13, over all dimensions from it on. */
function softmax(x: Tensor, call: NodeCall): Tensor {
  const isOld = call.int('opset') < 13;
  const axis = call.dim(call.int('axis', -1), x.ndim);
  if (!isOld) return F.softmax(x, axis);
  return F.softmax(asMatrix(x, axis), 1).reshape(x.shape);
}

/** The average of each window; channels may come last. */
function average(x: Tensor, call: NodeCall): Tensor {
  if (!call.flag('channels_last')) return averagePool(call, x);
  return averagePool(call, x.movedim(-1, 1)).movedim(1, -1);
}

/** The mean over axes, or over all. */
function reduceMean(x: Tensor, call: NodeCall): Tensor {
  const axes = call.ints('axes');
  const dims = axes === null || axes.length === 0 ? range(x.ndim) : call.dims(axes, x.ndim);
  return x.mean(dims, { keepdim: call.flag('keepdims', true) });
}

/** Elements of x or y: inputs condition, x with scale and zero point, y with both, both of the result. */
function choice(call: NodeCall): Tensor {
  const chosen = call.tensor(0).to('bool');
  return rounded(call, where(chosen, real(call, 1), real(call, 4)), 7, 1);
}

/** The largest element of each window of an image whose channels come last. */
function channelsLastMaxPool(call: NodeCall): Tensor {
  const [y] = maxPool(call, call.tensor(0).movedim(-1, 1));
  return y!.movedim(1, -1);
}

/** Operators with one output. */
export const contribQuantized: OperatorTable = {
  ...quantization,
  QLinearAdd: binary((a, b) => a.add(b)),
  QLinearMul: binary((a, b) => a.mul(b)),
  QLinearSigmoid: unary((x) => x.sigmoid()),
  QLinearLeakyRelu: unary((x, call) =>
    F.leakyRelu(x, { negativeSlope: call.float('alpha', 0.01) }),
  ),
  QLinearSoftmax: unary(softmax),
  QLinearAveragePool: unary(average),
  QLinearGlobalAveragePool: unary(globalAverage),
  QLinearReduceMean: unary(reduceMean),
  QLinearConcat: concat,
  QLinearWhere: choice,
  NhwcMaxPool: channelsLastMaxPool,
};
