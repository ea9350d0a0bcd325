/**
 * @file Elementary functions as formulas over scalar operations: inverse hyperbolic functions, logarithms
 * of sums and odds, lengths and angles.
 */
import type { Expr } from '../../ir/expr.js';
import { parameter } from './activation.js';
import { elementwise } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import { roundHalf } from './half-rounding.js';
import { formula, overloads } from './pointwise.js';
import type { Lowering } from '../lowering.js';
import type { LoweredArg } from '../registry.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** From here on x² swamps 1 in either type. */
const HUGE = 2 ** 28;

/** log 2x, which cannot overflow. */
function logTwice(m: ExprMath, x: Expr): Expr {
  return m.add(m.log(x), Math.LN2);
}

function acosh(m: ExprMath, x: Expr): Expr {
  const above = m.sub(x, 1);
  // Roots of both factors, so that the product of two negative ones is no number.
  const root = m.mul(m.sqrt(above), m.sqrt(m.add(x, 1)));
  const value = m.where(m.gt(x, HUGE), logTwice(m, x), m.log1p(m.add(above, root)));
  return m.where(m.lt(x, 1), NaN, value);
}

function asinh(m: ExprMath, x: Expr): Expr {
  const size = m.abs(x);
  const square = m.square(m.min(size, HUGE));
  const near = m.log1p(m.add(size, m.div(square, m.add(m.sqrt(m.add(square, 1)), 1))));
  return m.copysign(m.where(m.gt(size, HUGE), logTwice(m, size), near), x);
}

function atanh(m: ExprMath, x: Expr): Expr {
  const size = m.abs(x);
  const value = m.mul(m.log1p(m.div(m.mul(size, 2), m.sub(1, size))), 0.5);
  return m.where(m.gt(size, 1), NaN, m.copysign(value, x));
}

function hypot(m: ExprMath, a: Expr, b: Expr): Expr {
  const [x, y] = [m.abs(a), m.abs(b)];
  const large = m.max(x, y);
  const ratio = m.div(m.min(x, y), large);
  const length = m.mul(large, m.sqrt(m.add(m.square(ratio), 1)));
  const finite = m.where(m.eq(large, 0), 0, length);
  return m.where(m.or(m.isinf(a), m.isinf(b)), Infinity, finite);
}

/** The larger exponent plus what the other adds to it. */
function logAddExp(
  rest: (m: ExprMath, distance: Expr) => Expr,
): LoweringOf<'aten::logaddexp' | 'aten::logaddexp2'> {
  return formula((m, a, b) => {
    const sum = m.add(m.max(a, b), rest(m, m.neg(m.abs(m.sub(a, b)))));
    return m.where(m.and(m.eq(a, b), m.isinf(a)), a, sum);
  });
}

function xlogy(m: ExprMath, x: Expr, y: Expr): Expr {
  return m.where(m.isnan(y), y, m.where(m.eq(x, 0), 0, m.mul(x, roundHalf(m, m.log(y)))));
}

/** How far from 0 and 1 a probability is kept; null where it is not. */
function limit(l: Lowering, eps: LoweredArg, like: Expr): Expr | null {
  return eps === null || eps === undefined ? null : parameter(l, eps, like);
}

const logit: LoweringOf<'aten::logit'> = (l, [self, eps], call) =>
  elementwise(
    l,
    [self],
    call.dtype,
    (x) => {
      const m = new ExprMath(l.ir);
      const low = limit(l, eps, x);
      const z = low === null ? x : m.min(m.max(x, low), m.sub(1, low));
      return m.log(roundHalf(m, m.div(z, roundHalf(m, m.sub(1, z)))));
    },
    call.op,
  );

const logitBackward: LoweringOf<'aten::logit_backward'> = (l, [grad, self, eps], call) =>
  elementwise(
    l,
    [grad, self],
    call.dtype,
    (g, x) => {
      const m = new ExprMath(l.ir);
      const low = limit(l, eps, x);
      const outside = m.or(m.lt(x, low ?? 0), m.gt(x, low === null ? 1 : m.sub(1, low)));
      const value = m.div(g, m.mul(x, m.sub(1, x)));
      return m.where(outside, low === null ? NaN : 0, value);
    },
    call.op,
  );

/** Lowerings by overload name. */
export const elementaryLowerings: LoweringTable = lowerings({
  'aten::acosh': formula(acosh),
  'aten::asinh': formula(asinh),
  'aten::atanh': formula(atanh),
  'aten::hypot': formula(hypot),
  'aten::logaddexp': logAddExp((m, distance) => m.log1p(m.exp(distance))),
  'aten::logaddexp2': logAddExp((m, distance) => m.mul(m.log1p(m.exp2(distance)), Math.LOG2E)),
  'aten::logit': logit,
  'aten::logit_backward': logitBackward,
  ...overloads('xlogy', formula(xlogy), ['.Tensor', '.Scalar_Self', '.Scalar_Other']),
  'aten::deg2rad': formula((m, x) => m.mul(x, Math.PI / 180)),
  'aten::rad2deg': formula((m, x) => m.mul(x, 180 / Math.PI)),
  'aten::angle': formula((m, x) =>
    m.where(m.isnan(x), x, m.where(m.lt(x, 0), Math.PI, m.term(0, x.dtype))),
  ),
  'aten::sinc': formula((m, x) => {
    const angle = m.mul(x, Math.PI);
    return m.where(m.eq(x, 0), 1, m.div(m.sin(angle), angle));
  }),
});
