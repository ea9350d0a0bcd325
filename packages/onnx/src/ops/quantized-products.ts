/**
 * @file Products of quantized matrices and images: whole numbers, exact in the accumulator, scaled at the end.
 */
import { type Tensor, matmul } from '@tessera/tensor';
import { typeOf } from '../run/narrow-types.js';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';
import { convolve } from './conv.js';
import { saturated } from './scaling.js';

/** Whole numbers less their zero point, in a float type that adds them up exactly: 53 bits on the CPU, 24 elsewhere. */
export function centered(call: NodeCall, input: number, zero: number, dim: number): Tensor {
  const wide = call.tensor(input).to(call.device === 'cpu' ? 'float64' : 'float32');
  return call.has(zero) ? wide.sub(along(call.tensor(zero), wide, dim).to(wide.dtype)) : wide;
}

/** One number for all, or one per slice of a dimension. */
export function along(value: Tensor, x: Tensor, dim: number): Tensor {
  if (value.ndim !== 1) return value;
  if (value.shape[0] === 1) return value.reshape([]);
  return value.reshape(x.shape.map((_, i) => (i === (dim < 0 ? dim + x.ndim : dim) ? -1 : 1)));
}

/** A sum of products in the scale of the result. */
export function requantized(call: NodeCall, sum: Tensor, scale: Tensor, zero: number): Tensor {
  const type = call.has(zero) ? typeOf(call.array(zero)) : typeOf(call.array(0));
  const ratio = sum.to('float32').mul(scale.to('float32'));
  const shifted = call.has(zero)
    ? ratio.round().add(call.tensor(zero).to('float32').reshape([]))
    : ratio.round();
  return saturated(shifted, type);
}

function linearMatMul(call: NodeCall): Tensor {
  const sum = matmul(centered(call, 0, 2, -2), centered(call, 3, 5, -1));
  const scales = along(call.tensor(1), sum, -2).mul(along(call.tensor(4), sum, -1));
  return requantized(call, sum, scales.div(call.tensor(6).reshape([])), 7);
}

/** A convolution of whole numbers, in the scale of its result. */
export function linearConv(call: NodeCall): Tensor {
  // Of the contrib domain only: channels may come last.
  const isLast = call.flag('channels_last');
  const weight = centered(call, 3, 5, 0);
  const bias = call.optional(8)?.to(weight.dtype) ?? null;
  const x = centered(call, 0, 2, isLast ? -1 : 1);
  const sum = convolve(call, isLast ? x.movedim(-1, 1) : x, weight, bias);
  const scales = along(call.tensor(4), sum, 1).mul(call.tensor(1).reshape([]));
  const y = requantized(call, sum, scales.div(call.tensor(6).reshape([])), 7);
  return isLast ? y.movedim(1, -1) : y;
}

/** Operators of the standard domain. */
export const quantizedProducts: OperatorTable = {
  QLinearMatMul: linearMatMul,
  QLinearConv: linearConv,
  MatMulInteger: (call) => matmul(centered(call, 0, 2, -2), centered(call, 1, 3, -1)).to('int32'),
  ConvInteger: (call) =>
    convolve(call, centered(call, 0, 2, 1), centered(call, 1, 3, 0), null).to('int32'),
};
