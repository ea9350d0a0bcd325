/**
 * @file Products of quantized matrices of the `com.microsoft` domain.
 */
import { type Tensor, matmul } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';
import { inDType, range } from './like.js';
import { inSteps } from './quantize.js';
import { along, centered, linearConv, requantized } from './quantized-products.js';
import { scaling } from './scaling.js';

/** A product of whole numbers less their zero points, in the scale of both, with a bias. */
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
  const { steps, scale, zero } = inSteps(call.tensor(0));
  const a = steps.sub(zero).mul(scale);
  const b = call.tensor(1).to('float32').sub(scaling(call, 3)).mul(scaling(call, 2));
  return scaledProduct(call, a, b, 4);
}

/**
 * alpha · (A B + C) of whole numbers: inputs A, B with scale and zero point each, C in the scale of both, and the scale
 * and zero point of the result, without which it is of floats.
 */
function quantizedGemm(call: NodeCall): Tensor {
  const flip = (x: Tensor, name: string): Tensor => (call.flag(name) ? x.t() : x);
  const a = flip(centered(call, 0, 2, call.flag('transA') ? -1 : -2), 'transA');
  const b = flip(centered(call, 3, 5, call.flag('transB') ? -2 : -1), 'transB');
  const product = matmul(a, b);
  const c = call.optional(6);
  const sum = c === null ? product : product.add(c.to(product.dtype));
  const scales = call
    .tensor(1)
    .reshape([])
    .mul(along(call.tensor(4), sum, -1))
    .mul(call.float('alpha', 1));
  if (!call.has(7)) return sum.to('float32').mul(scales);
  return requantized(call, sum, scales.div(call.tensor(7).reshape([])), 8);
}

/** A sum of whole numbers over axes, as int32. */
function sumOfIntegers(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const axes = call.ints('axes');
  const dims = axes === null || axes.length === 0 ? range(x.ndim) : call.dims(axes, x.ndim);
  return inDType(x.to('int32').sum(dims, { keepdim: call.flag('keepdims', true) }), 'int32');
}

/** A · B of whole numbers less their zero points: inputs A, its zero point, B, its zero point. */
function multiplied(call: NodeCall): Tensor {
  const operand = (input: number): Tensor => {
    const wide = call.tensor(input).to('int32');
    const zero = call.optional(input + 1);
    return zero === null ? wide : wide.sub(zero.to('int32').reshape([]));
  };
  return operand(0).mul(operand(2));
}

/** Operators with one output. */
export const contribQuantizedProducts: OperatorTable = {
  QGemm: quantizedGemm,
  QLinearConv: linearConv,
  MatMulInteger16: (call) =>
    matmul(centered(call, 0, -1, -2), centered(call, 1, -1, -1)).to('int32'),
  MulInteger: multiplied,
  ReduceSumInteger: sumOfIntegers,
  MatMulIntegerToFloat: integerToFloat,
  DynamicQuantizeMatMul: dynamicProduct,
};
