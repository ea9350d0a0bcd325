/**
 * @file Whether a scatter written as a search is worth its comparisons.
 */
import type { Lowering } from './lowering.js';

/** Comparisons that take as long as the reference kernel needs for an element (measured): of loops, of products. */
const PER_ELEMENT = { loop: 64, product: 32 } as const;
/** Fewer than this are always worth it: no call, and what comes before and after is fused. */
const FEW_COMPARISONS = 2 ** 18;

/** Whether each of `results` elements looking at `each` of all `sources` is worth its comparisons. */
export function affordable(
  l: Lowering,
  results: number,
  each: number,
  sources: number,
  form: keyof typeof PER_ELEMENT = 'loop',
): boolean {
  const limit = Math.max(FEW_COMPARISONS, PER_ELEMENT[form] * (results + sources));
  return !l.hasFallback || results * each <= limit;
}
