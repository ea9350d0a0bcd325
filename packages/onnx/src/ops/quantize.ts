/**
 * @file Quantization of tensors: one scale for all of it, one per slice of an axis, or one per block.
 */
import { type Tensor, full, maximum, minimum, where } from '@tessera/tensor';
import { elementType } from '../model/element-types.js';
import { noteType, typeOf } from '../run/narrow-types.js';
import type { NodeCall } from '../run/node-call.js';
import type { ListOperatorTable, OperatorTable } from '../registry.js';
import { inDType, widened } from './like.js';
import { saturated } from './scaling.js';

/** A scale or zero point in a shape that broadcasts to x. */
export function perSlice(call: NodeCall, value: Tensor, x: Tensor): Tensor {
  if (value.ndim === 0 || value.shape.every((size) => size === 1)) return value.reshape([]);
  const dim = call.dim(call.int('axis', 1), x.ndim);
  const block = call.int('block_size', 0);
  if (block === 0) return value.reshape(x.shape.map((_, i) => (i === dim ? value.shape[0]! : 1)));
  return value.repeatInterleave(block, dim).narrow(dim, 0, x.shape[dim]!);
}

function quantize(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const scale = call.tensor(1);
  const named = elementType(call.int('output_dtype', 0)) ?? null;
  const type = call.has(2) ? typeOf(call.array(2)) : (named ?? elementType(2)!);
  const precision = elementType(call.int('precision', 0))?.dtype ?? 'float32';
  const ratio = x.to(precision).div(perSlice(call, scale, x).to(precision));
  const whole = ratio.round().to('float32');
  const shifted = call.has(2) ? whole.add(perSlice(call, call.tensor(2), x).to('float32')) : whole;
  return noteType(saturated(shifted, type), type);
}

function dequantize(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const scale = perSlice(call, call.tensor(1), x);
  const step = widened(scale);
  const wide = x.to(step.dtype);
  const centered = call.has(2) ? wide.sub(perSlice(call, call.tensor(2), x).to(step.dtype)) : wide;
  const named = elementType(call.int('output_dtype', 0))?.dtype ?? scale.dtype;
  return inDType(centered.mul(step), named);
}

/** A tensor in 256 steps over its range, zero included: the steps as floats, their size, and which of them is zero. */
export function inSteps(x: Tensor): {
  readonly steps: Tensor;
  readonly scale: Tensor;
  readonly zero: Tensor;
} {
  const none = full([], 0, { dtype: x.dtype, device: x.device });
  const isEmpty = x.numel === 0;
  const [low, high] = isEmpty ? [none, none] : [minimum(x.amin(), none), maximum(x.amax(), none)];
  const spread = high.sub(low).div(255);
  const scale = where(spread.eq(0), spread.add(1), spread);
  const zero = low.neg().div(scale).clamp(0, 255).round();
  return { steps: x.div(scale).round().add(zero).clamp(0, 255), scale, zero };
}

/** The range of a tensor, zero included, as 256 steps. */
function dynamicQuantize(call: NodeCall): Tensor[] {
  const { steps, scale, zero } = inSteps(call.tensor(0));
  return [steps.to('uint8'), scale, zero.to('uint8')];
}

/** Operators of the standard domain with one output. */
export const quantization: OperatorTable = {
  QuantizeLinear: quantize,
  DequantizeLinear: dequantize,
};

/** Operators of the standard domain with several outputs. */
export const quantizationLists: ListOperatorTable = { DynamicQuantizeLinear: dynamicQuantize };
