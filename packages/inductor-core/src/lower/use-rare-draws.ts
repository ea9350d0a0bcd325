/**
 * @file `useRareDraws`: Cauchy and geometric numbers on devices without reference kernels.
 */
import { rareDrawLowerings } from './ops/rare-draws.js';
import { registeredLowerings } from './registry.js';

/** Brings `cauchy_` and `geometric_` to such devices; a part of `useDistributions`. */
export function useRareDraws(): void {
  for (const [op, fn] of Object.entries(rareDrawLowerings)) registeredLowerings.set(op, fn);
}
