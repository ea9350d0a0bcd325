/**
 * @file `TensorProto` → values: raw bytes, typed fields and external files, each checked against the shape.
 */
import { itemSize } from '@tessera/tensor';
import { TesseraError } from '@tessera/shared';
import { type TensorProto, TensorProto_DataLocation as Location } from '../generated/onnx_pb.js';
import { invalidOnnx } from '../errors.js';
import { type ElementType, elementType, elementTypeName } from './element-types.js';
import type { TensorLiteral } from './model.js';

/** Bytes of an external file, which has been read already. */
export type ExternalBytes = (location: string, where: string) => Uint8Array;

/** The parts of a reference to an external file. */
export interface ExternalReference {
  readonly location: string;
  readonly offset: number;
  /** Null: up to the end of the file. */
  readonly length: number | null;
}

/** A size or offset of the file as a number. @throws onnx-invalid */
export function checkedSize(value: bigint, where: string, what: string): number {
  if (value < 0n || value > BigInt(Number.MAX_SAFE_INTEGER))
    invalidOnnx(where, `${what} is ${value}`);
  return Number(value);
}

/** Where the values of a tensor lie outside; null if they are in the file itself. @throws onnx-invalid */
export function externalReference(proto: TensorProto, where: string): ExternalReference | null {
  if (proto.dataLocation !== Location.EXTERNAL) return null;
  const entries = new Map(proto.externalData.map(({ key, value }) => [key, value]));
  const count = (key: string): number | null => {
    const text = entries.get(key);
    if (text === undefined) return null;
    if (!/^\d{1,15}$/.test(text))
      invalidOnnx(where, `its ${key} in the external file is '${text}'`);
    return Number(text);
  };
  const location = entries.get('location') ?? '';
  const parts = location.split(/[/\\]/);
  const leaves = parts.some((part) => part === '..' || part === '') || /^[a-z]:/i.test(location);
  if (leaves || location.includes('\0'))
    invalidOnnx(where, `its external file '${location}' is not in the folder of the model`, {
      hint: "External files lie beside the model or in a folder there: no '..', no absolute path.",
    });
  return { location, offset: count('offset') ?? 0, length: count('length') };
}

/** Integers of less than a byte, lowest bits first, one per byte. */
function unpacked(packed: Uint8Array, count: number, type: ElementType): Uint8Array {
  const out = new Uint8Array(count);
  const perByte = 8 / type.bits;
  const mask = (1 << type.bits) - 1;
  for (let i = 0; i < count; i++) {
    const bits = (packed[Math.floor(i / perByte)]! >> ((i % perByte) * type.bits)) & mask;
    out[i] = type.signed && bits > mask >> 1 ? bits - mask - 1 : bits;
  }
  return out;
}

/** Elements of the file's width as those of the dtype. @throws onnx-invalid if the number of bytes is another */
function fromRaw(raw: Uint8Array, count: number, type: ElementType, where: string): Uint8Array {
  const expected = Math.ceil((count * type.bits) / 8);
  if (raw.byteLength !== expected)
    invalidOnnx(where, `it has ${raw.byteLength} bytes where its shape needs ${expected}`);
  if (type.bits < 8) return unpacked(raw, count, type);
  if (type.bits / 8 === itemSize(type.dtype)) return raw;
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  if (type.bits === 16)
    return bytesOf(Int32Array.from({ length: count }, (_, i) => view.getUint16(i * 2, true)));
  return bytesOf(
    BigInt64Array.from({ length: count }, (_, i) => BigInt(view.getUint32(i * 4, true))),
  );
}

function bytesOf(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
}

/** The typed field that ONNX lays down for a type, as bytes of the dtype; null if there is no such field. */
function fromField(proto: TensorProto, count: number, type: ElementType): Uint8Array | null {
  switch (type.dtype) {
    case 'float32':
      return bytesOf(Float32Array.from(proto.floatData));
    case 'float64':
      return bytesOf(Float64Array.from(proto.doubleData));
    case 'int64':
      return bytesOf(
        BigInt64Array.from(type.signed ? proto.int64Data : proto.uint64Data, (value) =>
          BigInt.asIntN(64, value),
        ),
      );
    case 'int32':
      return bytesOf(Int32Array.from(proto.int32Data));
    case 'int16':
      return bytesOf(Int16Array.from(proto.int32Data));
    case 'float16':
    case 'bfloat16':
      return bytesOf(Uint16Array.from(proto.int32Data));
    case 'bool':
      return Uint8Array.from(proto.int32Data, (value) => (value === 0 ? 0 : 1));
    case 'int8':
    case 'uint8':
      return type.bits === 8
        ? Uint8Array.from(proto.int32Data)
        : unpacked(Uint8Array.from(proto.int32Data), count, type);
    default:
      return null;
  }
}

/** The shape of a tensor and its number of elements. @throws onnx-invalid */
function shapeOf(proto: TensorProto, where: string): { shape: number[]; count: number } {
  const shape = proto.dims.map((dim) => checkedSize(dim, where, 'a size'));
  const count = shape.reduce((product, size) => product * size, 1);
  if (!Number.isSafeInteger(count) || shape.length > 64)
    invalidOnnx(where, `its shape [${shape.join(', ')}] is too large`);
  return { shape, count };
}

/** The values of a tensor. @throws onnx-invalid, onnx-unsupported for element types that cannot be held */
export function readTensorLiteral(
  proto: TensorProto,
  where: string,
  external: ExternalBytes,
): TensorLiteral {
  const type = elementType(proto.dataType);
  if (type === undefined)
    throw new TesseraError(
      'onnx-unsupported',
      `ONNX: ${where}: elements of ${elementTypeName(proto.dataType)} are not supported`,
      {
        context: { where, type: elementTypeName(proto.dataType) },
        hints: ['Export the model with a float, integer or bool type there.'],
      },
    );
  const { shape, count } = shapeOf(proto, where);
  const reference = externalReference(proto, where);
  let bytes: Uint8Array | null;
  if (reference !== null) {
    const file = external(reference.location, where);
    const end = reference.offset + (reference.length ?? file.byteLength - reference.offset);
    if (reference.offset > file.byteLength || end > file.byteLength)
      invalidOnnx(
        where,
        `it lies at bytes ${reference.offset} to ${end} of '${reference.location}', which has ${file.byteLength}`,
      );
    bytes = fromRaw(file.subarray(reference.offset, end), count, type, where);
  } else if (proto.rawData !== undefined && proto.rawData.byteLength > 0) {
    bytes = fromRaw(proto.rawData, count, type, where);
  } else {
    const held = fieldLength(proto, type);
    const expected = type.bits < 8 ? Math.ceil((count * type.bits) / 8) : count;
    if (held !== expected)
      invalidOnnx(where, `it has ${held} values where its shape needs ${expected}`);
    bytes = fromField(proto, count, type);
  }
  return { name: proto.name, type, shape, bytes: bytes ?? new Uint8Array(0) };
}

function fieldLength(proto: TensorProto, type: ElementType): number {
  if (type.dtype === 'float32') return proto.floatData.length;
  if (type.dtype === 'float64') return proto.doubleData.length;
  if (type.dtype !== 'int64') return proto.int32Data.length;
  return (type.signed ? proto.int64Data : proto.uint64Data).length;
}
