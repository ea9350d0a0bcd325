/**
 * @file Quantized operators of the `com.microsoft` domain: whole numbers in and out, computed in float32 between.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, cat, matmul } from '@tessera/tensor';
import { rangeOf, typeOf } from '../run/narrow-types.js';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';
import { dynamicQuantize, quantization } from './quantize.js';

/** A scale or zero point: one number, or one for each column. */
function scaling(call: NodeCall, input: number): Tensor | number {
  const value = call.optional(input)?.to('float32');
  if (value === undefined) return 0;
  return value.numel === 1 ? value.reshape([]) : value;
}

/** (x - zero) · scale, of three inputs in the order x, scale, zero. */
function real(call: NodeCall, input: number): Tensor {
  const x = call
    .tensor(input)
    .to('float32')
    .sub(scaling(call, input + 2));
  return x.mul(scaling(call, input + 1));
}

/** Whole numbers of the type of input `like`, with the scale and zero point of two inputs. */
function rounded(call: NodeCall, x: Tensor, scale: number, like = 0): Tensor {
  const type = typeOf(call.array(like));
  const [low, high] = rangeOf(type);
  const whole = x
    .div(scaling(call, scale))
    .round()
    .add(scaling(call, scale + 1));
  return whole.clamp(low, high).to('int32').to(type.dtype);
}

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
