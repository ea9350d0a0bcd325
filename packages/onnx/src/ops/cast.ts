/**
 * @file Conversions between element types.
 *
 * A cast to an integer of fewer bits than its dtype holds wraps around as the ONNX type does.
 */
import { type Tensor, isFloatingPoint } from '@tessera/tensor';
import { type ElementType, elementType, elementTypeName } from '../model/element-types.js';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';

/** What a cast makes: the type of an attribute, or the dtype of another value. */
export function castTarget(call: NodeCall): ElementType {
  if (call.node.type === 'CastLike') {
    const dtype = call.dtype(1);
    const bits = { bool: 8, float64: 64, int64: 64, float32: 32, int32: 32 } as const;
    return {
      name: dtype,
      dtype,
      bits: dtype in bits ? bits[dtype as keyof typeof bits] : 8,
      signed: dtype !== 'uint8',
    };
  }
  const code = call.int('to');
  return (
    elementType(code) ?? call.fail(`elements of ${elementTypeName(code)} are not supported`)
  );
}

/** Keeps the lowest bits, as an integer of that many has them. */
function wrap(x: Tensor, bits: number, signed: boolean): Tensor {
  const size = 2 ** bits;
  const low = x.remainder(size);
  return signed ? low.sub(low.ge(size / 2).to(low.dtype).mul(size)) : low;
}

/** A tensor as another element type. */
export function castTo(x: Tensor, { dtype, bits, signed, name }: ElementType): Tensor {
  const isNarrow = dtype !== 'bool' && !isFloatingPoint(dtype) && (bits < 8 || name === 'uint16');
  if (isNarrow) return wrap(x.to('int32'), bits, signed).to(dtype);
  if (name === 'uint32') return wrap(x.to('int64'), 32, false);
  // Through int32, since a float below zero has no uint8.
  if (dtype === 'uint8' && isFloatingPoint(x.dtype)) return x.to('int32').to('uint8');
  return x.dtype === dtype ? x : x.to(dtype);
}

/** Operators of the standard domain. */
export const casts: OperatorTable = {
  Cast: (call) => castTo(call.tensor(0), castTarget(call)),
  CastLike: (call) => castTo(call.tensor(0), castTarget(call)),
};
