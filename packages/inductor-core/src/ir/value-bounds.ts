/**
 * @file Intervals that contain the values of integer expressions, from those of their operands.
 *
 * Enough to see that an index is in its range: places of loops, remainders, clamped and chosen values.
 */
import type { DType } from '@tessera/tensor';
import type { Expr } from './expr.js';
import { type Bounds, UNKNOWN } from './index-bounds.js';
import { isFloat } from './scalar-eval.js';

/** Values of each integer type; int64 is exact up to 2⁵³ in bounds, so beyond nothing is known. */
const RANGES: Partial<Record<DType, Bounds>> = {
  bool: { min: 0, max: 1 },
  uint8: { min: 0, max: 255 },
  int8: { min: -128, max: 127 },
  int16: { min: -(2 ** 15), max: 2 ** 15 - 1 },
  int32: { min: -(2 ** 31), max: 2 ** 31 - 1 },
};

/** What every value of a type lies in. */
export function rangeOf(dtype: DType): Bounds {
  return RANGES[dtype] ?? UNKNOWN;
}

function union(a: Bounds, b: Bounds): Bounds {
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };
}

/** Bounds that hold for a dtype in which the computation may wrap around. */
function unlessWrapped(bounds: Bounds, dtype: DType): Bounds {
  // Devices without 64-bit integers compute int64 in 32 bits.
  const { min, max } = RANGES[dtype] ?? RANGES.int32!;
  return bounds.min >= min && bounds.max <= max ? bounds : rangeOf(dtype);
}

/** The interval of an expression whose operands' intervals are known. */
export function valueBounds(
  expr: Expr,
  of: (operand: Expr) => Bounds,
  ofIndex: (index: Extract<Expr, { kind: 'index' }>) => Bounds,
): Bounds {
  const { dtype } = expr;
  if (isFloat(dtype)) return UNKNOWN;
  switch (expr.kind) {
    case 'const':
      return { min: expr.value, max: expr.value };
    case 'index':
      return unlessWrapped(ofIndex(expr), dtype);
    case 'masked':
      return union(of(expr.body), { min: expr.other, max: expr.other });
    case 'check':
      return of(expr.value);
    case 'op':
      return ofOperation(expr, of);
    default:
      return rangeOf(dtype);
  }
}

function ofOperation(
  { op, args, dtype }: Extract<Expr, { kind: 'op' }>,
  of: (operand: Expr) => Bounds,
): Bounds {
  const [a, b] = args.map(of) as [Bounds, Bounds];
  switch (op) {
    case 'add':
      return unlessWrapped({ min: a.min + b.min, max: a.max + b.max }, dtype);
    case 'sub':
      return unlessWrapped({ min: a.min - b.max, max: a.max - b.min }, dtype);
    case 'maximum':
      return { min: Math.max(a.min, b.min), max: Math.max(a.max, b.max) };
    case 'minimum':
      return { min: Math.min(a.min, b.min), max: Math.min(a.max, b.max) };
    case 'where':
      return union(b, of(args[2]!));
    case 'remainder':
      // Of the sign of the divisor; by zero it is zero.
      return b.min > 0 ? { min: 0, max: Math.max(b.max - 1, 0) } : rangeOf(dtype);
    case 'cast':
      return isFloat(args[0]!.dtype) ? rangeOf(dtype) : unlessWrapped(a, dtype);
    default:
      return rangeOf(dtype);
  }
}
