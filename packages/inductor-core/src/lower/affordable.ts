/**
 * @file Whether a scatter written as a search is worth its comparisons.
 */
import { type Size, sizeAdd, sizeKnown, sizeMul } from '@tessera/shared';
import type { Lowering } from './lowering.js';
import { takesSteps } from './put-in-steps.js';
import { isLarger } from './shape-math.js';

/** Comparisons that take as long as the reference kernel needs for an element (measured): of loops, of scatters, of products. */
const PER_ELEMENT = { loop: 64, scatter: 64, product: 32 } as const;
/** Fewer than this are always worth it: no call, and what comes before and after is fused. */
const FEW_COMPARISONS = 2 ** 18;
/** The same where scatters and products may be put in steps instead (put-in-steps.ts). */
const PER_STEP = 8;
const FEW_BESIDE_STEPS = 2 ** 12;

/**
 * Whether each of `results` elements looking at `each` of all `sources` is worth its comparisons. Where there is none to
 * look, the reference kernel does: it refuses indices that are out of range. A search that is only worth it at some of the
 * sizes that code is for is not: the reference kernel's time grows as sizes do, and a threshold would part them.
 */
export function affordable(
  l: Lowering,
  results: Size,
  each: Size,
  sources: Size,
  form: keyof typeof PER_ELEMENT = 'loop',
): boolean {
  if (!l.hasFallback) return true;
  const comparisons = sizeMul(results, each);
  const besideSteps = form !== 'loop' && takesSteps(l);
  const worth = sizeMul(besideSteps ? PER_STEP : PER_ELEMENT[form], sizeAdd(results, sources));
  const isAtMost = (limit: Size): boolean => sizeKnown(comparisons, '<=', limit) === true;
  return (
    isLarger(results, 0) &&
    (isAtMost(besideSteps ? FEW_BESIDE_STEPS : FEW_COMPARISONS) || isAtMost(worth))
  );
}
