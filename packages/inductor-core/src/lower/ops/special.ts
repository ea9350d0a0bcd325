/**
 * @file Special functions as formulas over scalar operations: gamma, Bessel, inverse error function.
 *
 * Each has as many terms as its type needs: errors are a few units in the last place of float32, and
 * below 1e-12 relative in float64. No branch depends on a value: both sides of a choice are computed.
 *
 * @see Abramowitz and Stegun 6.1, 6.3, 6.4, 9.6; M. Giles, Approximating the erfinv function
 */
import { besselI0e, besselI1e } from '@tessera/tensor/internal';
import type { Expr } from '../../ir/expr.js';
import { elementwise } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import { formula } from './pointwise.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** B₂ₖ/2k for k = 1, 2, … */
const DIGAMMA_SERIES: readonly number[] = [
  1 / 12,
  -1 / 120,
  1 / 252,
  -1 / 240,
  1 / 132,
  -691 / 32760,
  1 / 12,
  -3617 / 8160,
  43867 / 14364,
  -174611 / 6600,
];

const isDouble = (x: Expr): boolean => x.dtype === 'float64';

/** From which argument on the asymptotic series is used, and of how many terms. */
function asymptotic(x: Expr): { readonly from: number; readonly terms: number } {
  return isDouble(x) ? { from: 12, terms: 10 } : { from: 6, terms: 5 };
}

/** c₀ + c₁x + … */
function polynomial(m: ExprMath, x: Expr, coefficients: readonly number[]): Expr {
  return coefficients
    .slice(0, -1)
    .reduceRight<Expr>(
      (sum, c) => m.add(m.mul(sum, x), c),
      m.term(coefficients[coefficients.length - 1]!, x.dtype),
    );
}

/** x less the nearest integer: the same sine and tangent of π times it, up to sign. */
function offInteger(m: ExprMath, x: Expr): Expr {
  return m.sub(x, m.round(x));
}

function lgamma(m: ExprMath, x: Expr): Expr {
  const { from, terms } = asymptotic(x);
  const isReflected = m.lt(x, 0.5);
  const y = m.where(isReflected, m.sub(1, x), x);
  const isSmall = m.lt(y, from);
  const z = m.where(isSmall, m.add(y, from), y);
  let product = y;
  for (let k = 1; k < from; k++) product = m.mul(product, m.add(y, k));
  const inverse = m.reciprocal(z);
  const series = polynomial(
    m,
    m.square(inverse),
    DIGAMMA_SERIES.slice(0, terms).map((c, k) => c / (2 * k + 1)),
  );
  const stirling = m.add(
    m.sub(m.mul(m.sub(z, 0.5), m.log(z)), z),
    m.add(m.mul(series, inverse), 0.5 * Math.log(2 * Math.PI)),
  );
  // What is left of the difference at 1 and 2 is rounding.
  const isZero = m.eq(m.abs(m.sub(y, 1.5)), 0.5);
  const value = m.where(isZero, 0, m.sub(stirling, m.log(m.where(isSmall, product, 1))));
  const sine = m.abs(m.sin(m.mul(offInteger(m, x), Math.PI)));
  const reflected = m.sub(m.neg(m.log(m.mul(sine, 1 / Math.PI))), value);
  return m.where(m.isinf(x), Infinity, m.where(isReflected, reflected, value));
}

function digamma(m: ExprMath, x: Expr): Expr {
  const { from, terms } = asymptotic(x);
  const isReflected = m.lt(x, 0);
  const y = m.where(isReflected, m.sub(1, x), x);
  const isSmall = m.lt(y, from);
  const z = m.where(isSmall, m.add(y, from), y);
  let shift = m.reciprocal(y);
  for (let k = 1; k < from; k++) shift = m.add(shift, m.reciprocal(m.add(y, k)));
  const inverse = m.reciprocal(z);
  const square = m.square(inverse);
  const series = m.mul(polynomial(m, square, DIGAMMA_SERIES.slice(0, terms)), square);
  const large = m.sub(m.sub(m.log(z), m.mul(inverse, 0.5)), series);
  const value = m.sub(large, m.where(isSmall, shift, 0));
  const rest = offInteger(m, x);
  const reflected = m.sub(value, m.div(Math.PI, m.tan(m.mul(rest, Math.PI))));
  // At negative integers the tangent is 0 and the pole has no sign.
  const isPole = m.and(isReflected, m.or(m.eq(rest, 0), m.isinf(x)));
  return m.where(isPole, NaN, m.where(isReflected, reflected, value));
}

/** The first derivative of digamma. */
function trigamma(m: ExprMath, x: Expr): Expr {
  const { from, terms } = asymptotic(x);
  const isReflected = m.lt(x, 0.5);
  const y = m.where(isReflected, m.sub(1, x), x);
  let shift = m.reciprocal(m.square(y));
  for (let k = 1; k < from; k++) shift = m.add(shift, m.reciprocal(m.square(m.add(y, k))));
  const inverse = m.reciprocal(m.add(y, from));
  const square = m.square(inverse);
  const series = polynomial(
    m,
    square,
    DIGAMMA_SERIES.slice(0, terms).map((c, k) => c * (2 * k + 2)),
  );
  const large = m.add(m.add(inverse, m.mul(square, 0.5)), m.mul(m.mul(series, square), inverse));
  const value = m.add(large, shift);
  // πx is rounded before the sine, as PyTorch does.
  const cosecant = m.div(Math.PI, m.sin(m.mul(x, Math.PI)));
  return m.where(isReflected, m.sub(m.square(cosecant), value), value);
}

const polygamma: LoweringOf<'aten::polygamma'> = (l, [n, self], call) => {
  const order = n === 0 ? digamma : n === 1 ? trigamma : null;
  if (order === null) return null;
  return elementwise(l, [self], call.dtype, (x) => order(new ExprMath(l.ir), x), call.op);
};

// prettier-ignore
const ERFINV_CENTRE = [1.50140941, 0.246640727, -4.17768164e-3, -1.25372503e-3, 2.1858087e-4, -4.39150654e-6, -3.5233877e-6, 3.43273939e-7, 2.81022636e-8];
// prettier-ignore
const ERFINV_TAIL = [2.83297682, 1.00167406, 9.43887047e-3, -7.6224613e-3, 5.73950773e-3, -3.67342844e-3, 1.34934322e-3, 1.00950558e-4, -2.00214257e-4];

function erfinv(m: ExprMath, x: Expr): Expr {
  const w = m.neg(m.log(m.mul(m.sub(1, x), m.add(x, 1))));
  const centre = polynomial(m, m.sub(w, 2.5), ERFINV_CENTRE);
  const tail = polynomial(m, m.sub(m.sqrt(m.max(w, 0)), 3), ERFINV_TAIL);
  let y = m.mul(m.where(m.lt(w, 5), centre, tail), x);
  // The estimate is good to float32; each step of Newton's doubles the digits.
  for (let step = 0; isDouble(x) && step < 2; step++) {
    const slope = m.mul(m.exp(m.neg(m.square(y))), 2 / Math.sqrt(Math.PI));
    y = m.sub(y, m.div(m.sub(m.erf(y), x), slope));
  }
  const size = m.abs(x);
  const edge = m.where(m.eq(size, 1), m.mul(x, Infinity), y);
  return m.where(m.gt(size, 1), NaN, edge);
}

/** How many Chebyshev polynomials show a scaled Bessel function to float64. */
const BESSEL_TERMS = 30;

/** cos(πn / 2N) for the N of the polynomials: less whole turns, which rounding would not leave whole. */
function cosine(n: number): number {
  return Math.cos((Math.PI * (n % (4 * BESSEL_TERMS))) / (2 * BESSEL_TERMS));
}

/** Chebyshev coefficients c₀, c₁, … of a function on [-1, 1], from its values at the zeros of the first one left out. */
function chebyshevOf(fn: (t: number) => number): readonly number[] {
  const values = Array.from({ length: BESSEL_TERMS }, (_, j) => fn(cosine(2 * j + 1)));
  return values.map((_, k) => {
    const sum = values.reduce((before, value, j) => before + value * cosine(k * (2 * j + 1)), 0);
    return (sum * 2) / BESSEL_TERMS;
  });
}

/** c₀/2 + Σ cₖTₖ(t) by Clenshaw's recurrence, as far as the type shows, of the function with values `fn(t)`. */
function chebyshev(m: ExprMath, t: Expr, fn: (t: number) => number): Expr {
  const coefficients = chebyshevOf(fn);
  const smallest = (isDouble(t) ? 1e-16 : 1e-9) * Math.abs(coefficients[0]!);
  const kept = coefficients.filter((c) => Math.abs(c) > smallest);
  const twice = m.mul(t, 2);
  let later = m.term(0, t.dtype);
  let sum = m.term(kept[kept.length - 1]!, t.dtype);
  for (let k = kept.length - 2; k >= 1; k--)
    [later, sum] = [sum, m.add(m.sub(m.mul(twice, sum), later), kept[k]!)];
  return m.add(m.sub(m.mul(t, sum), later), kept[0]! / 2);
}

/** Iₙ(x)·e⁻ˣ, of I₁ over x, on [0, 8] over x/4 - 1, and times √x beyond 8 over 16/x - 1, as the reference has it. */
function scaledBessel(m: ExprMath, x: Expr, order: 0 | 1): Expr {
  const reference = order === 0 ? besselI0e : besselI1e;
  const size = m.abs(x);
  const near = chebyshev(m, m.sub(m.mul(m.min(size, 8), 1 / 4), 1), (t) => {
    const at = 4 * (t + 1);
    return reference(at) / at ** order;
  });
  const beyond = m.max(size, 8);
  const far = m.mul(
    chebyshev(m, m.sub(m.div(16, beyond), 1), (t) => {
      const at = 16 / (t + 1);
      return reference(at) * Math.sqrt(at);
    }),
    m.rsqrt(beyond),
  );
  return m.where(
    m.le(size, 8),
    order === 0 ? near : m.mul(near, x),
    order === 0 ? far : m.copysign(far, x),
  );
}

/** The function without its factor e^-|x|, in two steps: e^|x| overflows before the product does. */
function bessel(m: ExprMath, x: Expr, order: 0 | 1): Expr {
  const size = m.abs(x);
  const half = m.exp(m.mul(size, 0.5));
  return m.mul(m.mul(half, scaledBessel(m, x, order)), half);
}

/** Lowerings by overload name. */
export const specialLowerings: LoweringTable = lowerings({
  'aten::lgamma': formula(lgamma),
  'aten::digamma': formula(digamma),
  'aten::polygamma': polygamma,
  'aten::erfinv': formula(erfinv),
  'aten::i0': formula((m, x) => bessel(m, x, 0)),
  'aten::special_i0e': formula((m, x) => scaledBessel(m, x, 0)),
  'aten::special_i1': formula((m, x) => bessel(m, x, 1)),
  'aten::special_i1e': formula((m, x) => scaledBessel(m, x, 1)),
});
