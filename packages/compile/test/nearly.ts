/**
 * @file What eager mode gives, for comparison with compiled code: that may add numbers in another order, which also
 * depends on what other code there is to share.
 */
import { expect } from 'vitest';

/** The numbers of nested lists, each to be met within half a ten thousandth. */
export function nearly(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(nearly);
  return typeof value === 'number' && Number.isFinite(value) ? expect.closeTo(value, 4) : value;
}
