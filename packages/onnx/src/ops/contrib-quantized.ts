/**
 * @file Quantized operators of the `com.microsoft` domain: whole numbers in and out, computed in float32 between.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, cat, matmul } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';
import { dynamicQuantize, quantization } from './quantize.js';
import { real, rounded, scaling } from './scaling.js';

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

/** A Bᵀ-like product of whole numbers less their zero points, in the scale of both, with a bias. */
function scaledProduct(call: NodeCall, a: Tensor, b: Tensor, bias: number): Tensor {
  const y = matmul(a, b);
  const added = call.optional(bias);
  return added === null ? y : y.add(added);
}

/** A and B are whole numbers: inputs A, B, scales of both, zero points of both, bias. */
function integerToFloat(call: NodeCall): Tensor {
  const a = call.tensor(0).to('float32').sub(scaling(call, 4)).mul(scaling(call, 2));
  const b = call.tensor(1).to('float32').sub(scaling(call, 5)).mul(scaling(call, 3));
  return scaledProduct(call, a, b, 6);
}

/** A is quantized here, B is given: inputs A, B, scale and zero point of B, bias. */
function dynamicProduct(call: NodeCall): Tensor {
  const [quantized, scale, zero] = dynamicQuantize(call) as [Tensor, Tensor, Tensor];
  const a = quantized.to('float32').sub(zero.to('float32')).mul(scale);
  const b = call.tensor(1).to('float32').sub(scaling(call, 3)).mul(scaling(call, 2));
  return scaledProduct(call, a, b, 4);
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
  QLinearGlobalAveragePool: unary(globalAverage),
  QLinearConcat: concat,
  MatMulIntegerToFloat: integerToFloat,
  DynamicQuantizeMatMul: dynamicProduct,
};
