/**
 * @file Floor division and modulo of symbolic sizes, with their simplification rules.
 *
 * Both round towards −∞, as Python's `//` and `%`. A division by zero is an error at run time, so
 * the rules may assume that a divisor is not zero; `requireNonZero` makes it a guard. Modelled on
 * `torch.utils._sympy.functions.FloorDiv` and `Mod`.
 */
import { divisionByZero, floorDivNumbers, gcd, modNumbers } from './integer-arithmetic.js';
import { monomialFactors } from './order.js';
import {
  addScaled,
  addScaledSize,
  constantPolynomial,
  fromPolynomial,
  linearFormOf,
  monomialOf,
  multiplySizes,
  polynomialOf,
} from './polynomial.js';
import type { Polynomial } from './polynomial.js';
import { divideWithRemainder } from './polynomial-division.js';
import type { Size } from './size.js';
import type { SymInt, SymIntOwner } from './sym-int.js';
import { floorDivRanges } from './value-range.js';

/** `floor(n / d)`. */
export function floorDivSizes(env: SymIntOwner, n: Size, d: Size): Size {
  if (typeof d === 'number') {
    return typeof n === 'number' ? floorDivNumbers(n, d) : floorDivByConstant(env, n, d);
  }
  env.requireNonZero(d);
  return n === 0 ? 0 : floorDivBySymbol(env, n, d);
}

/** `n mod d`, with the sign of `d`. */
export function modSizes(env: SymIntOwner, n: Size, d: Size): Size {
  if (typeof d === 'number') {
    return typeof n === 'number' ? modNumbers(n, d) : modByConstant(env, n, d);
  }
  env.requireNonZero(d);
  return n === 0 ? 0 : modBySymbol(env, n, d);
}

function negate(env: SymIntOwner, size: Size): Size {
  return multiplySizes(env, size, -1);
}

function floorDivByConstant(env: SymIntOwner, n: SymInt, d: number): Size {
  if (d === 0) throw divisionByZero(n);
  if (d === 1) return n;
  if (d < 0) return floorDivSizes(env, negate(env, n), -d);

  // n = d * whole + part. Coefficients are truncated, so that each part keeps its sign and the
  // interval of the quotient stays tight; the constant is floored into [0, d).
  const source = polynomialOf(n);
  const whole = constantPolynomial(Math.floor(source.constant / d));
  const part = constantPolynomial(source.constant - d * whole.constant);
  for (const [monomial, coeff] of source.terms) {
    const quotient = Math.trunc(coeff / d);
    addScaled(whole, monomial, quotient);
    addScaled(part, monomial, coeff - quotient * d);
  }
  if (part.terms.size === 0) return fromPolynomial(env, whole);

  const common = [...part.terms.values()].reduce(gcd, d);
  const reduced = constantPolynomial(Math.floor(part.constant / common));
  for (const [monomial, coeff] of part.terms) addScaled(reduced, monomial, coeff / common);
  addScaled(whole, quotientNode(env, fromPolynomial(env, reduced), d / common), 1);
  return fromPolynomial(env, whole);
}

/** `floor(n / d)` where no part of `n` is a multiple of `d` any more; `d > 0` if it is a number. */
function quotientNode(env: SymIntOwner, n: Size, d: Size): Size {
  if (typeof n === 'number') {
    if (typeof d === 'number') return floorDivNumbers(n, d);
  } else {
    const nested = nestedQuotient(env, n, d);
    if (nested !== undefined) return nested;
  }
  const range = floorDivRanges(env.rangeOf(n), env.rangeOf(d));
  if (range.lo === range.hi) return range.lo;
  if (typeof d !== 'number' && liesBelow(env, n, d)) return 0;
  return env.intern('floordiv', [n, d]);
}

/** `floor((floor(x / a) + k) / d)` is `floor((x + k * a) / (a * d))` for `d > 0`. */
function nestedQuotient(env: SymIntOwner, n: SymInt, d: Size): Size | undefined {
  if (env.rangeOf(d).lo <= 0) return undefined;
  const { scale, base, constant } = linearFormOf(env, n);
  if (scale !== 1 || base.kind !== 'floordiv') return undefined;
  const [x, a] = base.args;
  if (constant !== 0 && typeof a !== 'number') return undefined;
  const shifted = addScaledSize(env, x, a, constant);
  return floorDivSizes(env, shifted, multiplySizes(env, a, d));
}

/** True when `0 <= n < d` is known. */
function liesBelow(env: SymIntOwner, n: Size, d: Size): boolean {
  if (env.rangeOf(n).lo < 0) return false;
  return env.rangeOf(addScaledSize(env, d, n, -1)).lo >= 1;
}

function floorDivBySymbol(env: SymIntOwner, n: Size, d: SymInt): Size {
  const { numerator, divisor } = cancelCommonFactor(env, n, d);
  if (typeof divisor === 'number') return floorDivSizes(env, numerator, divisor);
  const { quotient, remainder } = divideWithRemainder(env, numerator, divisor);
  if (remainder === 0) return quotient;
  if (quotient === 0) return quotientNode(env, remainder, divisor);
  // The remainder may share a factor with the divisor that the numerator did not have.
  return addScaledSize(env, quotient, floorDivSizes(env, remainder, divisor), 1);
}

function modByConstant(env: SymIntOwner, n: SymInt, d: number): Size {
  if (d === 0) throw divisionByZero(n);
  if (d < 0) return negate(env, modSizes(env, negate(env, n), -d));

  const reduced = constantPolynomial(0);
  const flattened = withoutInnerMod(n, d);
  reduced.constant = modNumbers(flattened.constant, d);
  for (const [monomial, coeff] of flattened.terms)
    addScaled(reduced, monomial, modNumbers(coeff, d));
  if (reduced.terms.size === 0) return reduced.constant;

  // (g * x + k) mod (g * c) is g * ((x + floor(k / g)) mod c) + k mod g.
  const common = [...reduced.terms.values()].reduce(gcd, d);
  const inner = constantPolynomial(Math.floor(reduced.constant / common));
  for (const [monomial, coeff] of reduced.terms) addScaled(inner, monomial, coeff / common);
  const node = remainderNode(env, fromPolynomial(env, inner), d / common);
  return addScaledSize(env, modNumbers(reduced.constant, common), node, common);
}

/** Replaces multiples of `x mod m` by multiples of `x` where `d` divides `m`. */
function withoutInnerMod(n: SymInt, d: number): Polynomial {
  const result = constantPolynomial(0);
  const source = polynomialOf(n);
  result.constant = source.constant;
  for (const [monomial, coeff] of source.terms) {
    const modulus = monomial.kind === 'mod' ? monomial.args[1] : 0;
    const redundant = typeof modulus === 'number' && modulus !== 0 && modulus % d === 0;
    addScaled(result, redundant ? monomial.args[0] : monomial, coeff);
  }
  return result;
}

/** `n mod d` where nothing can be taken out of `n` any more; `d > 0` if it is a number. */
function remainderNode(env: SymIntOwner, n: Size, d: Size): Size {
  if (typeof n === 'number' && typeof d === 'number') return modNumbers(n, d);
  const quotient = floorDivRanges(env.rangeOf(n), env.rangeOf(d));
  if (quotient.lo === quotient.hi) return addScaledSize(env, n, d, -quotient.lo);
  if (typeof d !== 'number' && liesBelow(env, n, d)) return n;
  return env.intern('mod', [n, d]);
}

function modBySymbol(env: SymIntOwner, n: Size, d: SymInt): Size {
  const { numerator, divisor, factor } = cancelCommonFactor(env, n, d);
  if (typeof divisor === 'number' || factor !== 1) {
    return multiplySizes(env, factor, modSizes(env, numerator, divisor));
  }
  const { quotient, remainder } = divideWithRemainder(env, numerator, divisor);
  if (remainder === 0) return 0;
  if (quotient === 0) return remainderNode(env, remainder, divisor);
  return modSizes(env, remainder, divisor);
}

/**
 * Takes the largest common factor (a monomial with an integer coefficient) out of both, and makes
 * the leading coefficient of the divisor positive.
 */
function cancelCommonFactor(
  env: SymIntOwner,
  n: Size,
  d: SymInt,
): { numerator: Size; divisor: Size; factor: Size } {
  const parts = [polynomialOf(n), polynomialOf(d)];
  const content = gcd(contentOf(parts[0]), contentOf(parts[1]));
  const leading = parts[1].terms.values().next().value!;
  const coefficient = content * Math.sign(leading);
  const shared = parts.every((part) => part.constant === 0) ? sharedFactors(parts) : [];
  if (coefficient === 1 && shared.length === 0) return { numerator: n, divisor: d, factor: 1 };
  const [numerator, divisor] = parts.map((part) => {
    const divided = constantPolynomial(part.constant / coefficient);
    for (const [monomial, coeff] of part.terms) {
      addScaled(divided, withoutFactors(env, monomial, shared), coeff / coefficient);
    }
    return fromPolynomial(env, divided);
  });
  const monomial = shared.length === 0 ? 1 : monomialOf(env, shared);
  return { numerator, divisor, factor: multiplySizes(env, monomial, coefficient) };
}

function contentOf(polynomial: Polynomial): number {
  return [...polynomial.terms.values()].reduce(gcd, polynomial.constant);
}

/** The factors, with multiplicity, that every monomial of every polynomial has. */
function sharedFactors(polynomials: readonly Polynomial[]): SymInt[] {
  let shared: SymInt[] | undefined;
  for (const { terms } of polynomials) {
    for (const monomial of terms.keys()) {
      const factors = [...monomialFactors(monomial)];
      shared =
        shared?.filter((factor) => {
          const at = factors.indexOf(factor);
          if (at >= 0) factors.splice(at, 1);
          return at >= 0;
        }) ?? factors;
    }
  }
  return shared ?? [];
}

function withoutFactors(env: SymIntOwner, monomial: SymInt, factors: readonly SymInt[]): Size {
  const rest = [...monomialFactors(monomial)];
  for (const factor of factors) rest.splice(rest.indexOf(factor), 1);
  return rest.length === 0 ? 1 : monomialOf(env, rest);
}
