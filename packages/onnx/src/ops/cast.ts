/**
 * @file Conversions between element types.
 *
 * A cast to an integer of fewer bits than its dtype holds wraps around as the ONNX type does.
 */
import { type Tensor, cpuHeap, fromBytes, isFloatingPoint, itemSize } from '@tessera/tensor';
import { type ElementType, elementType, elementTypeName } from '../model/element-types.js';
import { wrapped } from '../run/kept-types.js';
import { noteType, typeOf } from '../run/narrow-types.js';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';
import { product } from './like.js';

const FLOAT64: ElementType = { name: 'float64', dtype: 'float64', bits: 64, signed: true };

/** What a cast makes: the type of an attribute, or the dtype of another value. */
export function castTarget(call: NodeCall): ElementType {
  if (call.node.type === 'CastLike') return typeOf(call.array(1));
  const code = call.int('to');
  const type = elementType(code) ?? call.unsupported(`a cast to ${elementTypeName(code)}`);
  // Exporters write what a norm computes in as a cast, and the type of the model: of one that was moved it is float64.
  return call.isDouble && isFloatingPoint(type.dtype) && type.bits >= 16 ? FLOAT64 : type;
}

/** A tensor as another element type. */
export function castTo(x: Tensor, type: ElementType): Tensor {
  const { dtype, bits, name } = type;
  const isNarrow = dtype !== 'bool' && !isFloatingPoint(dtype) && (bits < 8 || name === 'uint16');
  if (isNarrow) return wrapped(x.to('int32'), type).to(dtype);
  if (name === 'uint32') return wrapped(x.to('int64'), type);
  // Through int32, since a float below zero has no uint8.
  if (dtype === 'uint8' && isFloatingPoint(x.dtype)) return x.to('int32').to('uint8');
  return x.dtype === dtype ? x : x.to(dtype);
}

function cast(call: NodeCall): Tensor {
  const type = castTarget(call);
  return noteType(castTo(call.tensor(0), type), type);
}

/** The same bits as another type. */
function bitCast(call: NodeCall): Tensor {
  const type = castTarget(call);
  const x = call.tensor(0).contiguous();
  const { shape } = x;
  if (itemSize(x.dtype) !== itemSize(type.dtype))
    call.fail(`${x.dtype} and ${type.name} are of different sizes`);
  const onCpu = x.device === 'cpu' ? x : call.host(0).toTensor('cpu');
  const start = onCpu.dataPtr();
  const bytes = cpuHeap().u8.slice(start, start + product(shape) * itemSize(x.dtype));
  return noteType(fromBytes(bytes, shape, type.dtype, { device: call.device }), type);
}

/** Operators of the standard domain. */
export const casts: OperatorTable = { Cast: cast, CastLike: cast, BitCast: bitCast };
