/**
 * @file Whether a position lies in a range, as a condition.
 */
import type { Size } from '@tessera/shared';
import type { Expr } from '../ir/expr.js';
import type { IndexExpr } from '../ir/index-expr.js';
import type { Lowering } from './lowering.js';

/** `low <= index < high`, without the sides that always hold. */
export function within(l: Lowering, index: IndexExpr, low: Size, high: Size): Expr {
  const value = l.ir.index('int32', index);
  return l.ir.op('and', [
    l.ir.op('ge', [value, l.ir.sizeValue('int32', low)]),
    l.ir.op('lt', [value, l.ir.sizeValue('int32', high)]),
  ]);
}
