/**
 * @file Comparisons of integers that the intervals of their operands decide.
 */
import type { Bounds } from './interval.js';

/** Operations that compare integers. */
export type Comparison = 'eq' | 'ne' | 'lt' | 'le' | 'gt' | 'ge' | 'within';

/** The result of a comparison, given the intervals of `a - b` and of `a`; null where it is open. */
export function decideComparison(op: Comparison, difference: Bounds, a: Bounds): boolean | null {
  const { min, max } = difference;
  switch (op) {
    case 'eq':
      return either(min === 0 && max === 0, min > 0 || max < 0);
    case 'ne':
      return either(min > 0 || max < 0, min === 0 && max === 0);
    case 'lt':
      return either(max < 0, min >= 0);
    case 'le':
      return either(max <= 0, min > 0);
    case 'gt':
      return either(min > 0, max <= 0);
    case 'ge':
      return either(min >= 0, max < 0);
    case 'within':
      return either(max < 0 && a.min >= 0, min >= 0 || a.max < 0);
  }
}

function either(always: boolean, never: boolean): boolean | null {
  return always ? true : never ? false : null;
}
