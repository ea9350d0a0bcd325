/**
 * @file What an integer value may be, from what its operands may be: one rule for each kind of expression.
 *
 * This is the place to say what bounds an index that is computed at run time: a clamp, a choice, a remainder, a
 * conversion. Whatever has no rule may be anything in its type, and what a kernel computes in a wider type than its
 * own (narrow integers that were not wrapped by a cast, bools from memory) may be anything.
 */
import type { DType } from '@tessera/tensor';
import type { Expr, ScalarOp } from './expr.js';
import { isFloat } from './scalar-eval.js';
import { PREDICATES } from './scalar-ops.js';
import {
  type Bounds,
  INT32,
  UNKNOWN,
  intersection,
  isWithin,
  product,
  rangeOf,
  scaledSum,
  union,
  unlessWrapped,
} from './interval.js';

/** What is known of the parts of an expression. */
export interface ValueFacts {
  /** An operand. */
  of(operand: Expr): Bounds;
  /** An operand where a condition holds. */
  where(condition: Expr, truth: boolean, operand: Expr): Bounds;
  /** The place that an `index` expression gives. */
  ofIndex(expr: Extract<Expr, { kind: 'index' }>): Bounds;
  /** A result of a reduction. */
  ofResult(expr: Extract<Expr, { kind: 'acc' }>): Bounds;
}

const BIT: Bounds = { min: 0, max: 1 };

/** A sound interval for an integer expression; unknown for floats. */
export function valueInterval(expr: Expr, facts: ValueFacts): Bounds {
  const { dtype } = expr;
  if (isFloat(dtype)) return UNKNOWN;
  switch (expr.kind) {
    case 'const':
      return { min: expr.value, max: expr.value };
    case 'index':
      return unlessWrapped(facts.ofIndex(expr), dtype);
    case 'load':
      // A byte of memory need not be 0 or 1.
      return dtype === 'bool' ? rangeOf('uint8') : rangeOf(dtype);
    case 'scalar':
      return dtype === 'bool' ? UNKNOWN : rangeOf(dtype);
    case 'acc':
      return facts.ofResult(expr);
    case 'masked':
      return union(facts.where(expr.mask, true, expr.body), { min: expr.other, max: expr.other });
    case 'check':
      // Where the condition does not hold, a kernel ends or goes on with 0.
      return union(facts.where(expr.ok, true, expr.value), { min: 0, max: 0 });
    case 'op':
      return PREDICATES.has(expr.op) ? BIT : ofOperation(expr, facts);
    case 'random':
      return UNKNOWN;
  }
}

function ofOperation(expr: Extract<Expr, { kind: 'op' }>, facts: ValueFacts): Bounds {
  const { op, args, dtype } = expr;
  if (op === 'where') {
    const [condition, a, b] = args as [Expr, Expr, Expr];
    return union(facts.where(condition, true, a), facts.where(condition, false, b));
  }
  if (op === 'cast') return ofCast(args[0]!, dtype, facts);
  const operands = args.map((arg) => facts.of(arg));
  const [a, b] = operands as [Bounds, Bounds];
  if (op === 'maximum') return { min: Math.max(a.min, b.min), max: Math.max(a.max, b.max) };
  if (op === 'minimum') return { min: Math.min(a.min, b.min), max: Math.min(a.max, b.max) };
  const found = ofArithmetic(op, operands);
  return unlessWrapped(found ?? UNKNOWN, dtype);
}

function ofCast(from: Expr, dtype: DType, facts: ValueFacts): Bounds {
  if (dtype === 'bool') return BIT;
  const bounds = isFloat(from.dtype) ? UNKNOWN : facts.of(from);
  // A cast is what wraps a value into its type.
  return isWithin(bounds, dtype === 'int64' ? INT32 : rangeOf(dtype)) ? bounds : rangeOf(dtype);
}

/** Before wrapping; null where no rule is known. */
function ofArithmetic(op: ScalarOp, operands: readonly Bounds[]): Bounds | null {
  const [a, b] = operands as [Bounds, Bounds];
  const isPositive = b !== undefined && b.min > 0;
  switch (op) {
    case 'add':
      return scaledSum(a, 1, b);
    case 'sub':
      return scaledSum(b, -1, a);
    case 'neg':
      return scaledSum(a, -1, { min: 0, max: 0 });
    case 'mul':
      return product(a, b);
    case 'square':
      return intersection(product(a, a), { min: 0, max: Infinity });
    case 'abs':
      return {
        min: Math.max(0, a.min, -a.max),
        max: Math.max(Math.abs(a.min), Math.abs(a.max)),
      };
    case 'sign':
      return { min: -1, max: 1 };
    case 'remainder':
      // Of the sign of the divisor.
      return isPositive ? { min: 0, max: b.max - 1 } : null;
    case 'fmod':
      // Of the sign of the dividend, and no larger.
      return isPositive
        ? {
            min: a.min >= 0 ? 0 : Math.max(a.min, 1 - b.max),
            max: Math.max(0, Math.min(a.max, b.max - 1)),
          }
        : null;
    case 'floordiv':
    case 'truncdiv': {
      if (!isPositive) return null;
      const round = op === 'floordiv' ? Math.floor : Math.trunc;
      const corners = [a.min / b.min, a.min / b.max, a.max / b.min, a.max / b.max].map(round);
      return corners.some(Number.isNaN)
        ? null
        : { min: Math.min(...corners), max: Math.max(...corners) };
    }
    case 'and':
      return a.min >= 0 && b.min >= 0 ? { min: 0, max: Math.min(a.max, b.max) } : null;
    case 'or':
    case 'xor':
      return isWithin(a, BIT) && isWithin(b, BIT) ? BIT : null;
    case 'not':
      // Of integers the complement of all bits, which the caller refuses for bools.
      return isWithin(a, BIT) ? union(BIT, { min: -2, max: -1 }) : null;
    default:
      return null;
  }
}
