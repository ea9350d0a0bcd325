/**
 * @file Scales and zero points of quantized operators, and the way from whole numbers to real ones and back.
 */
import type { Tensor } from '@tessera/tensor';
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

/** Whole numbers of the type of input `like`, with the scale and zero point of two inputs. */
export function rounded(call: NodeCall, x: Tensor, scale: number, like = 0): Tensor {
  const type = typeOf(call.array(like));
  const [low, high] = rangeOf(type);
  const whole = x
    .div(scaling(call, scale))
    .round()
    .add(scaling(call, scale + 1));
  return whole.clamp(low, high).to('int32').to(type.dtype);
}
