/**
 * @file Element types: their storage width, category and typed-array views.
 *
 * The names are PyTorch's. A dtype is a plain string so that it can stand in serialised plans and
 * graphs; everything else about it is looked up here.
 */
import { TesseraError } from '@tessera/shared';

/** Element type of a tensor. */
export type DType =
  | 'float32'
  | 'float64'
  | 'float16'
  | 'bfloat16'
  | 'int64'
  | 'int32'
  | 'int16'
  | 'int8'
  | 'uint8'
  | 'bool';

/** Dtypes of floats. */
export type FloatDType = 'float32' | 'float64' | 'float16' | 'bfloat16';

/** Dtypes of integers. */
export type IntegerDType = 'int64' | 'int32' | 'int16' | 'int8' | 'uint8';

/** Promotion category, lowest first: bool < integral < floating. */
export type DTypeCategory = 'bool' | 'integral' | 'floating';

/** What is known about a dtype. */
export interface DTypeInfo {
  /** Bytes per element in storage. */
  readonly itemSize: number;
  readonly category: DTypeCategory;
  /** PyTorch's capitalised scalar-type name, as guard messages print it (`Float`, `Long`). */
  readonly scalarTypeName: string;
  /** safetensors spelling (`F32`). */
  readonly safetensors: string;
}

/** Every dtype with its facts, in PyTorch's order of width within a category. */
export const DTYPES: Readonly<Record<DType, DTypeInfo>> = {
  bool: { itemSize: 1, category: 'bool', scalarTypeName: 'Bool', safetensors: 'BOOL' },
  uint8: { itemSize: 1, category: 'integral', scalarTypeName: 'Byte', safetensors: 'U8' },
  int8: { itemSize: 1, category: 'integral', scalarTypeName: 'Char', safetensors: 'I8' },
  int16: { itemSize: 2, category: 'integral', scalarTypeName: 'Short', safetensors: 'I16' },
  int32: { itemSize: 4, category: 'integral', scalarTypeName: 'Int', safetensors: 'I32' },
  int64: { itemSize: 8, category: 'integral', scalarTypeName: 'Long', safetensors: 'I64' },
  float16: { itemSize: 2, category: 'floating', scalarTypeName: 'Half', safetensors: 'F16' },
  bfloat16: { itemSize: 2, category: 'floating', scalarTypeName: 'BFloat16', safetensors: 'BF16' },
  float32: { itemSize: 4, category: 'floating', scalarTypeName: 'Float', safetensors: 'F32' },
  float64: { itemSize: 8, category: 'floating', scalarTypeName: 'Double', safetensors: 'F64' },
};

/** Bytes per element. @throws dtype-unsupported for what is no dtype */
export function itemSize(dtype: DType): number {
  const info: DTypeInfo | undefined = DTYPES[dtype];
  if (info !== undefined) return info.itemSize;
  throw new TesseraError('dtype-unsupported', `There is no dtype '${String(dtype)}' here.`, {
    hints: [`The dtypes are: ${Object.keys(DTYPES).join(', ')}.`],
  });
}

/** Whether a dtype, or that of a tensor, holds floating-point numbers (and so may require gradients). */
export function isFloatingPoint(of: DType): of is FloatDType;
export function isFloatingPoint(of: DType | { readonly dtype: DType }): boolean;
export function isFloatingPoint(of: DType | { readonly dtype: DType }): boolean {
  return DTYPES[typeof of === 'string' ? of : of.dtype].category === 'floating';
}

/** Whether a dtype, or that of a tensor, is an integer other than bool. */
export function isIntegral(of: DType): of is IntegerDType;
export function isIntegral(of: DType | { readonly dtype: DType }): boolean;
export function isIntegral(of: DType | { readonly dtype: DType }): boolean {
  return DTYPES[typeof of === 'string' ? of : of.dtype].category === 'integral';
}

/** The type that PyTorch computes in: float32 for 16-bit floats. @see opmath_type */
export function opmathType(dtype: DType): DType {
  return isFloatingPoint(dtype) && dtype !== 'float64' ? 'float32' : dtype;
}

/** Whether a string names a dtype. */
export function isDType(value: unknown): value is DType {
  return typeof value === 'string' && Object.hasOwn(DTYPES, value);
}
