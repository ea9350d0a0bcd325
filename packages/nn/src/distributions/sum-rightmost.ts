/** @file Sums over the dimensions of an event. */
import type { Tensor } from '@tessera/tensor';

/** Sums the last `count` dimensions. */
export function sumRightmost(value: Tensor, count: number): Tensor {
  if (count === 0) return value;
  return value.sum(Array.from({ length: count }, (_, i) => -1 - i));
}
