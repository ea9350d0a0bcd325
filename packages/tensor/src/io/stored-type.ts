/**
 * @file Element types as files store them: those of tensors, and some that no tensor has and that are converted.
 *
 * Eight-bit floats become float32. Unsigned integers become the least signed type that holds all their values; of
 * 64 bits there is none, so U64 becomes int64 and a value from 2⁶³ on is an error.
 */
import { TesseraError } from '@tessera/shared';
import { DTYPES, type DType, isDType, isFloatingPoint } from '../dtype.js';

/** A stored element type that can be loaded. */
export interface StoredType {
  /** The name that safetensors gives it. */
  readonly code: string;
  /** Bytes per element in the file. */
  readonly itemSize: number;
  /** What it is loaded as. */
  readonly dtype: DType;
}

const CONVERTED: readonly StoredType[] = [
  { code: 'F8_E4M3', itemSize: 1, dtype: 'float32' },
  { code: 'F8_E5M2', itemSize: 1, dtype: 'float32' },
  { code: 'F8_E8M0', itemSize: 1, dtype: 'float32' },
  { code: 'U16', itemSize: 2, dtype: 'int32' },
  { code: 'U32', itemSize: 4, dtype: 'int64' },
  { code: 'U64', itemSize: 8, dtype: 'int64' },
];

/** The stored type of this name in safetensors, null if no tensor has it. */
export function plainType(code: string): StoredType | null {
  for (const [name, { itemSize, safetensors }] of Object.entries(DTYPES))
    if (safetensors === code) return { code, itemSize, dtype: name as DType };
  return null;
}

/** The stored type of this name in safetensors, null if it cannot be loaded. */
export function storedType(code: string): StoredType | null {
  return plainType(code) ?? CONVERTED.find((type) => type.code === code) ?? null;
}

/** What is loaded when `wanted` is asked for: it is for floating-point numbers, as in `Module.to`. */
export function loadedDType(stored: StoredType, wanted: DType | undefined): DType {
  return wanted !== undefined && isFloatingPoint(stored.dtype) ? wanted : stored.dtype;
}

/** @throws invalid-argument */
export function checkFloatDType(dtype: DType | undefined): void {
  if (dtype === undefined || (isDType(dtype) && isFloatingPoint(dtype))) return;
  throw new TesseraError(
    'invalid-argument',
    `dtype must be a floating-point dtype, not ${String(dtype)}: integers and booleans are loaded as they are.`,
    { hints: ["Give 'float32', 'float16', 'bfloat16' or 'float64'."] },
  );
}

/** A tensor of a file that was not loaded, as no tensor can hold it. */
export interface SkippedTensor {
  readonly name: string;
  /** The file's name of the element type. */
  readonly storedType: string;
  readonly shape: readonly number[];
}

/** @throws dtype-unsupported */
export function refuseStoredType({ name, storedType: type, shape }: SkippedTensor): never {
  throw new TesseraError(
    'dtype-unsupported',
    `Tensor '${name}' has dtype ${JSON.stringify(type)}, which cannot be loaded.`,
    {
      context: { name, storedType: type, shape },
      hints: ['Convert it where the file was made, or leave it out with the `keys` option.'],
    },
  );
}
