/**
 * @file The element types of ONNX, and the dtype that holds each.
 *
 * Types that no tensor has are held by a wider one: uint16 by int32, uint32 and uint64 by int64, and integers of four
 * and two bits by those of eight. `bits` and `signed` are those of the ONNX type, so that a cast to it wraps around
 * as it does there. uint64 above 2⁶³ wraps.
 */
import { type DType } from '@tessera/tensor';
import { TensorProto_DataType as Type } from '../generated/onnx_pb.js';

/** See the file header. */
export interface ElementType {
  /** ONNX's name, lower case. */
  readonly name: string;
  readonly dtype: DType;
  /** Bits of an element in a file. */
  readonly bits: number;
  readonly signed: boolean;
}

function entry(
  type: Type,
  dtype: DType,
  bits: number,
  signed = true,
): readonly [number, ElementType] {
  return [type, { name: Type[type].toLowerCase(), dtype, bits, signed }];
}

const TYPES: ReadonlyMap<number, ElementType> = new Map([
  entry(Type.FLOAT, 'float32', 32),
  entry(Type.DOUBLE, 'float64', 64),
  entry(Type.FLOAT16, 'float16', 16),
  entry(Type.BFLOAT16, 'bfloat16', 16),
  entry(Type.BOOL, 'bool', 8, false),
  entry(Type.INT8, 'int8', 8),
  entry(Type.INT16, 'int16', 16),
  entry(Type.INT32, 'int32', 32),
  entry(Type.INT64, 'int64', 64),
  entry(Type.UINT8, 'uint8', 8, false),
  entry(Type.UINT16, 'int32', 16, false),
  entry(Type.UINT32, 'int64', 32, false),
  entry(Type.UINT64, 'int64', 64, false),
  entry(Type.INT4, 'int8', 4),
  entry(Type.UINT4, 'uint8', 4, false),
  entry(Type.INT2, 'int8', 2),
  entry(Type.UINT2, 'uint8', 2, false),
]);

/** The element type of a number in a file; undefined if it cannot be held (strings, complex, eight-bit floats). */
export function elementType(code: number): ElementType | undefined {
  return TYPES.get(code);
}

/** ONNX's name of a type, for messages. */
export function elementTypeName(code: number): string {
  return Type[code] ?? `type ${code}`;
}
