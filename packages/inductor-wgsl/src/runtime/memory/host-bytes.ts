/**
 * @file Plain numbers in host layout: the bytes that a plan's constants are uploaded from.
 */
import { itemSize, type DType } from '@tessera/tensor';
import { numberToBfloat, numberToHalf } from '@tessera/tensor/internal';

/** Numbers in host layout. */
export function hostBytes(dtype: DType, values: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(values.length * itemSize(dtype));
  const data = new DataView(bytes.buffer);
  for (const [i, value] of values.entries()) writeElement(data, i * itemSize(dtype), dtype, value);
  return bytes;
}

function writeElement(data: DataView, byte: number, dtype: DType, value: number): void {
  switch (dtype) {
    case 'float32':
      return data.setFloat32(byte, value, true);
    case 'float64':
      return data.setFloat64(byte, value, true);
    case 'int64':
      return data.setBigInt64(byte, BigInt(Math.trunc(value)), true);
    case 'int32':
      return data.setInt32(byte, value, true);
    case 'int16':
      return data.setInt16(byte, value, true);
    case 'float16':
      return data.setUint16(byte, numberToHalf(value), true);
    case 'bfloat16':
      return data.setUint16(byte, numberToBfloat(value), true);
    default:
      return data.setUint8(byte, value);
  }
}
