/**
 * @file Comparisons of integers that the intervals of their operands decide.
 */
import type { ValueRange } from '@tessera/shared';

/** Operations that compare integers. */
export type Comparison = 'eq' | 'ne' | 'lt' | 'le' | 'gt' | 'ge' | 'within';

/** The result of a comparison, given the intervals of `a - b` and of `a`; null where it is open. */
export function decideComparison(
  op: Comparison,
  difference: ValueRange,
  a: ValueRange,
): boolean | null {
  const { lo, hi } = difference;
  switch (op) {
    case 'eq':
      return either(lo === 0 && hi === 0, lo > 0 || hi < 0);
    case 'ne':
      return either(lo > 0 || hi < 0, lo === 0 && hi === 0);
    case 'lt':
      return either(hi < 0, lo >= 0);
    case 'le':
      return either(hi <= 0, lo > 0);
    case 'gt':
      return either(lo > 0, hi <= 0);
    case 'ge':
      return either(lo >= 0, hi < 0);
    case 'within':
      return either(hi < 0 && a.lo >= 0, lo >= 0 || a.hi < 0);
  }
}

function either(always: boolean, never: boolean): boolean | null {
  return always ? true : never ? false : null;
}
