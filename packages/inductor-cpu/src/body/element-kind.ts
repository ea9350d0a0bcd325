/**
 * @file Element kinds: how values of each dtype are held in vector registers while a kernel computes.
 *
 * Vector code works on groups of four elements. A group is one v128 of four 32-bit lanes, or two v128
 * of two 64-bit lanes. A bool is an i32x4 mask (0 or -1 per lane) whatever it was computed from, so
 * masks combine and select without conversions.
 */
import type { DType } from '@tessera/tensor';

/** `f32`, `i32` and `bool` take one register for four elements, `f64` and `i64` two. */
export type ElementKind = 'f32' | 'f64' | 'i32' | 'i64' | 'bool';

const KINDS: Readonly<Record<DType, ElementKind>> = {
  float32: 'f32',
  float16: 'f32',
  bfloat16: 'f32',
  float64: 'f64',
  int64: 'i64',
  int32: 'i32',
  int16: 'i32',
  int8: 'i32',
  uint8: 'i32',
  bool: 'bool',
};

/** Kind in which values of a dtype are computed. */
export function kindOf(dtype: DType): ElementKind {
  return KINDS[dtype];
}

/** Registers for four elements. */
export function registersPerGroup(kind: ElementKind): 1 | 2 {
  return kind === 'f64' || kind === 'i64' ? 2 : 1;
}

/** Prefix of the vector instructions of a kind (`f32x4`). */
export const SHAPES: Readonly<Record<ElementKind, 'f32x4' | 'f64x2' | 'i32x4' | 'i64x2'>> = {
  f32: 'f32x4',
  f64: 'f64x2',
  i32: 'i32x4',
  i64: 'i64x2',
  bool: 'i32x4',
};
