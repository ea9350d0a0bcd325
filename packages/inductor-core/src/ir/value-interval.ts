/**
 * @file What an integer value may be, from what its operands may be: one rule for each kind of expression.
 *
 * This is the place to say what bounds an index that is computed at run time: a clamp, a choice, a remainder, a
 * conversion. Whatever has no rule may be anything in its type, and what a kernel computes in a wider type than its
 * own (narrow integers that were not wrapped by a cast, bools from memory) may be anything.
 */
import {
  ANY_INTEGER,
  type ValueRange,
  addRanges,
  exactly,
  floorDivRanges,
  intersectRanges,
  liesWithin,
  maxRanges,
  minRanges,
  modRanges,
  multiplyRanges,
  scaleRange,
  unionRanges,
} from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { Expr, ScalarOp } from './expr.js';
import { isFloat } from './scalar-eval.js';
import { PREDICATES } from './scalar-ops.js';
import { INT32, rangeOf, unlessWrapped } from './integer-ranges.js';

/** What is known of the parts of an expression. */
export interface ValueFacts {
  /** An operand. */
  of(operand: Expr): ValueRange;
  /** An operand where a condition holds. */
  where(condition: Expr, truth: boolean, operand: Expr): ValueRange;
  /** The place that an `index` expression gives. */
  ofIndex(expr: Extract<Expr, { kind: 'index' }>): ValueRange;
  /** A result of a reduction. */
  ofResult(expr: Extract<Expr, { kind: 'acc' }>): ValueRange;
}

const BIT: ValueRange = { lo: 0, hi: 1 };

/** A sound interval for an integer expression; unknown for floats. */
export function valueInterval(expr: Expr, facts: ValueFacts): ValueRange {
  const { dtype } = expr;
  if (isFloat(dtype)) return ANY_INTEGER;
  switch (expr.kind) {
    case 'const':
      return exactly(expr.value);
    case 'index':
      return unlessWrapped(facts.ofIndex(expr), dtype);
    case 'load':
      // A byte of memory need not be 0 or 1.
      return dtype === 'bool' ? rangeOf('uint8') : rangeOf(dtype);
    case 'scalar':
      return dtype === 'bool' ? ANY_INTEGER : rangeOf(dtype);
    case 'acc':
      return facts.ofResult(expr);
    case 'masked':
      return unionRanges(facts.where(expr.mask, true, expr.body), exactly(expr.other));
    case 'check':
      // Where the condition does not hold, a kernel ends or goes on with 0.
      return unionRanges(facts.where(expr.ok, true, expr.value), exactly(0));
    case 'op':
      return PREDICATES.has(expr.op) ? BIT : ofOperation(expr, facts);
    case 'random':
      return ANY_INTEGER;
  }
}

function ofOperation(expr: Extract<Expr, { kind: 'op' }>, facts: ValueFacts): ValueRange {
  const { op, args, dtype } = expr;
  if (op === 'where') {
    const [condition, a, b] = args;
    return unionRanges(facts.where(condition, true, a), facts.where(condition, false, b));
  }
  if (op === 'cast') return ofCast(args[0]!, dtype, facts);
  const operands = args.map((arg) => facts.of(arg));
  const [a, b] = operands;
  if (op === 'maximum') return maxRanges(a, b);
  if (op === 'minimum') return minRanges(a, b);
  const found = ofArithmetic(op, operands);
  return unlessWrapped(found ?? ANY_INTEGER, dtype);
}

function ofCast(from: Expr, dtype: DType, facts: ValueFacts): ValueRange {
  if (dtype === 'bool') return BIT;
  const bounds = isFloat(from.dtype) ? ANY_INTEGER : facts.of(from);
  // A cast is what wraps a value into its type.
  return liesWithin(bounds, dtype === 'int64' ? INT32 : rangeOf(dtype)) ? bounds : rangeOf(dtype);
}

/** Before wrapping; null where no rule is known. */
function ofArithmetic(op: ScalarOp, operands: readonly ValueRange[]): ValueRange | null {
  const [a, b] = operands;
  const isPositive = b !== undefined && b.lo > 0;
  switch (op) {
    case 'add':
      return addRanges(a, b);
    case 'sub':
      return addRanges(a, scaleRange(b, -1));
    case 'neg':
      return scaleRange(a, -1);
    case 'mul':
      return multiplyRanges(a, b);
    case 'square':
      return intersectRanges(multiplyRanges(a, a), { lo: 0, hi: Infinity });
    case 'abs':
      return {
        lo: Math.max(0, a.lo, -a.hi),
        hi: Math.max(Math.abs(a.lo), Math.abs(a.hi)),
      };
    case 'sign':
      return { lo: -1, hi: 1 };
    case 'remainder':
      // Of the sign of the divisor.
      return isPositive ? modRanges(a, b) : null;
    case 'fmod':
      // Of the sign of the dividend, and no larger.
      return isPositive
        ? {
            lo: a.lo >= 0 ? 0 : Math.max(a.lo, 1 - b.hi),
            hi: Math.max(0, Math.min(a.hi, b.hi - 1)),
          }
        : null;
    case 'floordiv':
      return isPositive ? floorDivRanges(a, b) : null;
    case 'truncdiv': {
      if (!isPositive) return null;
      const corners = [a.lo / b.lo, a.lo / b.hi, a.hi / b.lo, a.hi / b.hi].map(Math.trunc);
      return corners.some(Number.isNaN)
        ? null
        : { lo: Math.min(...corners), hi: Math.max(...corners) };
    }
    case 'and':
      return a.lo >= 0 && b.lo >= 0 ? { lo: 0, hi: Math.min(a.hi, b.hi) } : null;
    case 'or':
    case 'xor':
      return liesWithin(a, BIT) && liesWithin(b, BIT) ? BIT : null;
    case 'not':
      // Of integers the complement of all bits, which the caller refuses for bools.
      return liesWithin(a, BIT) ? unionRanges(BIT, { lo: -2, hi: -1 }) : null;
    default:
      return null;
  }
}
