/**
 * @file When and how finely to split a reduction.
 *
 * A reduction with few results and many elements would run on few workers. It is cut into pieces that
 * reduce side by side; a second reduction combines them.
 */
import type { Capabilities } from '../backend/kernel-backend.js';
import type { Size } from '@tessera/shared';
import type { SizedLoop } from '../ir/index-expr.js';
import { isNumbers, numelOf } from './shape-math.js';

/** Fewest elements that a piece has, unless the backend splits even smaller reductions. */
const SMALLEST_PIECE = 256;

/** Number of pieces for a reduction with `outer` results, or null for one pass. */
export function splitPoint(
  capabilities: Capabilities,
  outer: Size,
  inner: readonly SizedLoop[],
): number | null {
  const sizes = inner.map(({ size }) => size);
  // Rows of a symbolic length, or so many of them, are reduced in one pass: how to cut would depend on the size.
  if (typeof outer !== 'number' || !isNumbers(sizes)) return null;
  const count = numelOf(sizes);
  if (outer >= capabilities.parallelism || count < capabilities.splitReductionThreshold)
    return null;
  const wanted = Math.min(
    Math.ceil(capabilities.parallelism / outer),
    Math.floor(count / Math.min(SMALLEST_PIECE, capabilities.splitReductionThreshold)),
  );
  if (wanted < 2) return null;
  const pieces = evenSplit(count, sizes, wanted);
  return 2 * pieces <= count ? pieces : null;
}

/** The number of pieces nearest to `wanted` that keeps pieces equal and whole loops together. */
function evenSplit(count: number, sizes: readonly number[], wanted: number): number {
  // Whole leading loops times a divisor of the next one keeps every index affine.
  let whole = 1;
  for (const size of sizes) {
    if (whole * size <= wanted) {
      whole *= size;
      continue;
    }
    for (
      let pieces = Math.ceil(wanted / whole);
      pieces <= Math.min(size, Math.ceil((4 * wanted) / whole));
      pieces++
    ) {
      if (size % pieces === 0) return whole * pieces;
    }
    break;
  }
  if (whole >= wanted / 2 && whole >= 2) return whole;
  for (let pieces = wanted; pieces <= 4 * wanted; pieces++) if (count % pieces === 0) return pieces;
  return wanted;
}
