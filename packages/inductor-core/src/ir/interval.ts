/**
 * @file Closed intervals of integers and their arithmetic.
 *
 * An interval that may leave the integers that a double holds exactly is unknown: nothing is proven from rounded ends.
 */
import type { DType } from '@tessera/tensor';

/** A closed integer interval; infinite where nothing is known. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
}

/** Any integer. */
export const UNKNOWN: Bounds = { min: -Infinity, max: Infinity };
/** Places as kernels compute them, in 32 bits. */
export const INT32: Bounds = { min: -(2 ** 31), max: 2 ** 31 - 1 };

/** Values of each integer type; of int64 nothing is known, as not all of its values are doubles. */
const RANGES: Partial<Record<DType, Bounds>> = {
  bool: { min: 0, max: 1 },
  uint8: { min: 0, max: 255 },
  int8: { min: -128, max: 127 },
  int16: { min: -(2 ** 15), max: 2 ** 15 - 1 },
  int32: INT32,
};

/** What every value of a type lies in. */
export function rangeOf(dtype: DType): Bounds {
  return RANGES[dtype] ?? UNKNOWN;
}

/** The same bounds, or none where an end is no exact integer. */
export function exact(bounds: Bounds): Bounds {
  const isEnd = (end: number): boolean => Number.isSafeInteger(end) || Math.abs(end) === Infinity;
  return isEnd(bounds.min) && isEnd(bounds.max) ? bounds : UNKNOWN;
}

/** Whether all of `inner` lies in `outer`. */
export function isWithin(inner: Bounds, outer: Bounds): boolean {
  return inner.min >= outer.min && inner.max <= outer.max;
}

/** What holds both. */
export function union(a: Bounds, b: Bounds): Bounds {
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };
}

/** What both hold; empty (min > max) if nothing. */
export function intersection(a: Bounds, b: Bounds): Bounds {
  return { min: Math.max(a.min, b.min), max: Math.min(a.max, b.max) };
}

/** Product that keeps 0 · ∞ = 0. */
export function times(a: number, b: number): number {
  return a === 0 || b === 0 ? 0 : a * b;
}

/** Products of one value of each. */
export function product(a: Bounds, b: Bounds): Bounds {
  const corners = [
    times(a.min, b.min),
    times(a.min, b.max),
    times(a.max, b.min),
    times(a.max, b.max),
  ];
  return exact({ min: Math.min(...corners), max: Math.max(...corners) });
}

/** `factor · a + b`. */
export function scaledSum(a: Bounds, factor: number, b: Bounds): Bounds {
  const ends = [times(a.min, factor), times(a.max, factor)];
  return exact({ min: Math.min(...ends) + b.min, max: Math.max(...ends) + b.max });
}

/**
 * Bounds of a computation in `dtype` which may leave the type: then 32-bit integers wrap around, and nothing is known
 * of narrower types, which are computed in wider ones. Devices without 64-bit integers compute int64 in 32 bits.
 */
export function unlessWrapped(bounds: Bounds, dtype: DType): Bounds {
  if (isWithin(bounds, dtype === 'int64' ? INT32 : rangeOf(dtype))) return bounds;
  return dtype === 'int32' ? INT32 : UNKNOWN;
}
