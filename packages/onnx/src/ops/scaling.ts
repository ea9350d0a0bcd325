/**
 * @file Scales and zero points of quantized operators, and the way from whole numbers to real ones and back.
 */
import { type Tensor, fmax, full } from '@tessera/tensor';
import type { ElementType } from '../model/element-types.js';
import { rangeOf, typeOf } from '../run/narrow-types.js';
import type { NodeCall } from '../run/node-call.js';

/** A scale or zero point: one number, or one for each column; 0 for one that is left out. */
export function scaling(call: NodeCall, input: number): Tensor | number {
  const value = call.optional(input)?.to('float32');
  if (value === undefined) return 0;
  return value.numel === 1 ? value.reshape([]) : value;
}

/** (x - zero) · scale, of three inputs in the order x, scale, zero. */
export function real(call: NodeCall, input: number): Tensor {
  const x = call
    .tensor(input)
    .to('float32')
    .sub(scaling(call, input + 2));
  return x.mul(scaling(call, input + 1));
}

/** Rounded floats as whole numbers of a type. Those beyond are its ends, and NaN is the lower one as in onnxruntime. */
export function saturated(rounded: Tensor, type: ElementType): Tensor {
  const [low, high] = rangeOf(type);
  const least = full([], low, { dtype: rounded.dtype, device: rounded.device });
  return fmax(rounded.clamp(null, high), least).to('int32').to(type.dtype);
}

/** Whole numbers of the type of input `like`, with the scale and zero point of two inputs. */
export function rounded(call: NodeCall, x: Tensor, scale: number, like = 0): Tensor {
  const type = typeOf(call.array(like));
  const whole = x
    .div(scaling(call, scale))
    .round()
    .add(scaling(call, scale + 1));
  return saturated(whole, type);
}
