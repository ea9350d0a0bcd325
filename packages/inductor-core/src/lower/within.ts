/**
 * @file Whether a position lies in a range, as a condition.
 */
import type { Expr } from '../ir/expr.js';
import type { IndexExpr } from '../ir/index-expr.js';
import type { Lowering } from './lowering.js';

/** `low <= index < high`, without the sides that always hold. */
export function within(l: Lowering, index: IndexExpr, low: number, high: number): Expr {
  const value = l.ir.index('int32', index);
  return l.ir.op('and', [
    l.ir.op('ge', [value, l.ir.const('int32', low)]),
    l.ir.op('lt', [value, l.ir.const('int32', high)]),
  ]);
}
