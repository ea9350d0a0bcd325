/**
 * @file How the IR's element types look in WGSL: the type a value is computed in and the type a buffer
 * element is stored in.
 *
 * | dtype | computed in | stored as | bytes |
 * |---|---|---|---|
 * | float32 | f32 | f32 | 4 |
 * | float16 | f32, rounded at stores and casts | f16 with `shader-f16`, else f32 | 2 or 4 |
 * | bfloat16 | f32, rounded at stores and casts | its bits as an f16 with `shader-f16`, else f32 | 2 or 4 |
 * | int64, int32, int16, int8, uint8 | i32 | i32 | 4 |
 * | bool | bool | u32, 0 or 1 | 4 |
 *
 * WGSL has no 64-bit types: float64 is an error, int64 holds what fits in 32 bits.
 */
import { TesseraError } from '@tessera/shared';
import type { DType } from '@tessera/tensor';

/** Type of a value in generated code. */
export type ScalarType = 'f32' | 'i32' | 'u32' | 'bool';
/** Type of a buffer element. `bf16` stands for the 16 bits of a bfloat16, which WGSL has no name for: they are declared f16. */
export type StorageType = 'f32' | 'f16' | 'bf16' | 'i32' | 'u32';
/** Values per expression: one, or four in a vector; two in accumulators that are narrow. */
export type Width = 1 | 2 | 4;

/** Element types that WebGPU buffers can hold. */
export const DEVICE_DTYPES: ReadonlySet<DType> = new Set<DType>([
  'float32',
  'float16',
  'bfloat16',
  'int64',
  'int32',
  'int16',
  'int8',
  'uint8',
  'bool',
]);

/** Type in which values of a dtype are computed. @throws dtype-unsupported */
export function computeType(dtype: DType): ScalarType {
  switch (dtype) {
    case 'float32':
    case 'float16':
    case 'bfloat16':
      return 'f32';
    case 'bool':
      return 'bool';
    case 'float64':
      throw new TesseraError(
        'dtype-unsupported',
        `Device 'wgpu' has no float64: WGSL has no 64-bit numbers.`,
        {
          context: { dtype, device: 'wgpu' },
          hints: [
            'Convert to float32 before moving to the device: x.to(float32).',
            `Or keep this computation on device 'cpu'.`,
          ],
        },
      );
    default:
      return 'i32';
  }
}

/** Type of an element of a buffer. @throws dtype-unsupported */
export function storageType(dtype: DType, f16: boolean): StorageType {
  const type = computeType(dtype);
  if (type === 'bool') return 'u32';
  if (f16 && dtype === 'float16') return 'f16';
  return f16 && dtype === 'bfloat16' ? 'bf16' : type;
}

/** Whether an element takes two bytes. */
export function isHalfWide(storage: StorageType): boolean {
  return storage === 'f16' || storage === 'bf16';
}

/** Bytes of an element in device memory. @throws dtype-unsupported */
export function deviceItemSize(dtype: DType, f16: boolean): number {
  return isHalfWide(storageType(dtype, f16)) ? 2 : 4;
}

const VECTORS: Readonly<Record<ScalarType | StorageType, string>> = {
  f32: 'vec4f',
  f16: 'vec4h',
  bf16: 'vec4h',
  i32: 'vec4i',
  u32: 'vec4u',
  bool: 'vec4<bool>',
};

/** WGSL name of a scalar or a vector. */
export function typeName(type: ScalarType | StorageType, width: Width): string {
  if (width === 1) return type === 'bf16' ? 'f16' : type;
  return VECTORS[type].replace('4', String(width));
}
