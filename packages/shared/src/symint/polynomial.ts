/**
 * @file Polynomial arithmetic on symbolic sizes: the normal form behind `sum` and `product`.
 *
 * A `Polynomial` is the unpacked form used while computing; `fromPolynomial` packs it into the
 * canonical node. Products of sums are multiplied out, so equal polynomials become the same node,
 * up to a size limit beyond which a product is left as it is (correct, only less canonical).
 */
import { TesseraError } from '../errors.js';
import { compareMonomials, compareSizes, monomialFactors } from './order.js';
import { gcd } from './integer-arithmetic.js';
import type { Size } from './size.js';
import type { SymInt, SymIntOwner } from './sym-int.js';

/** Sum of integer multiples of monomials, and a constant; a builder, so it is mutable. */
export interface Polynomial {
  readonly terms: Map<SymInt, number>;
  constant: number;
}

/** Multiplying out stops where the result would have more terms than this. */
const MAX_EXPANDED_TERMS = 512;

/** The polynomial of a constant. */
export function constantPolynomial(constant: number): Polynomial {
  return { terms: new Map(), constant };
}

/** The polynomial of a size. */
export function polynomialOf(size: Size): Polynomial {
  const result = constantPolynomial(0);
  addScaled(result, size, 1);
  return result;
}

/** Adds `factor * size` to the polynomial. */
export function addScaled(target: Polynomial, size: Size, factor: number): void {
  if (typeof size === 'number') {
    target.constant += factor * size;
  } else if (size.kind === 'sum') {
    for (let i = 0; i < size.args.length; i++) {
      addTerm(target, size.args[i] as SymInt, factor * size.coeffs[i]);
    }
    target.constant += factor * size.constant;
  } else {
    addTerm(target, size, factor);
  }
}

function addTerm(target: Polynomial, monomial: SymInt, coeff: number): void {
  const next = (target.terms.get(monomial) ?? 0) + coeff;
  if (next === 0) target.terms.delete(monomial);
  else target.terms.set(monomial, next);
}

/** The canonical size with this value. */
export function fromPolynomial(env: SymIntOwner, polynomial: Polynomial): Size {
  joinQuotientsAndRemainders(env, polynomial);
  const { terms } = polynomial;
  const constant = exact(polynomial.constant);
  if (terms.size === 0) return constant;
  const monomials = [...terms.keys()];
  if (monomials.length > 1) monomials.sort(compareMonomials);
  const coeffs = monomials.map((monomial) => exact(terms.get(monomial)!));
  if (monomials.length === 1 && coeffs[0] === 1 && constant === 0) return monomials[0];
  return env.intern('sum', monomials, coeffs, constant);
}

/** Rewrites `d * floordiv(x, d) + mod(x, d)` to `x`, where both halves are present. */
function joinQuotientsAndRemainders(env: SymIntOwner, polynomial: Polynomial): void {
  const { terms } = polynomial;
  for (const [remainder, coeff] of terms) {
    if (remainder.kind !== 'mod') continue;
    const quotient = env.find('floordiv', remainder.args);
    if (quotient === undefined) continue;
    const [numerator, divisor] = remainder.args;
    const whole = polynomialOf(multiplySizes(env, quotient, divisor));
    if (![...whole.terms].every(([monomial, c]) => terms.get(monomial) === coeff * c)) continue;
    for (const monomial of whole.terms.keys()) terms.delete(monomial);
    terms.delete(remainder);
    addScaled(polynomial, numerator, coeff);
  }
}

/** Coefficients must stay exact: sizes beyond 2^53 are refused instead of rounded. */
function exact(value: number): number {
  if (Number.isSafeInteger(value)) return value + 0;
  throw new TesseraError(
    'invalid-argument',
    `A symbolic size got the constant ${value}, which is not an exact integer.`,
    {
      context: { value },
      hints: [
        'Sizes are integers below 2^53 in magnitude; round before combining with a symbolic size.',
      ],
    },
  );
}

/** `a * b`. */
export function multiplySizes(env: SymIntOwner, a: Size, b: Size): Size {
  if (typeof a === 'number' && typeof b === 'number') return a * b + 0;
  const left = polynomialOf(a);
  const right = polynomialOf(b);
  if (left.terms.size * right.terms.size > MAX_EXPANDED_TERMS) {
    return monomialOf(env, [...monomialFactors(a as SymInt), ...monomialFactors(b as SymInt)]);
  }
  const result = constantPolynomial(left.constant * right.constant);
  for (const [monomial, coeff] of left.terms) {
    addScaled(result, monomial, coeff * right.constant);
    for (const [other, otherCoeff] of right.terms) {
      const product = monomialOf(env, [...monomialFactors(monomial), ...monomialFactors(other)]);
      addScaled(result, product, coeff * otherCoeff);
    }
  }
  for (const [monomial, coeff] of right.terms) addScaled(result, monomial, coeff * left.constant);
  return fromPolynomial(env, result);
}

/** The product of factors, each an atom or a sum that was not multiplied out; at least one. */
export function monomialOf(env: SymIntOwner, factors: readonly SymInt[]): SymInt {
  if (factors.length === 1) return factors[0];
  return env.intern('product', [...factors].sort(compareSizes));
}

/** The sum of sizes; linear in the total number of terms. */
export function sumOfSizes(env: SymIntOwner, sizes: readonly Size[]): Size {
  const result = constantPolynomial(0);
  for (const size of sizes) addScaled(result, size, 1);
  return fromPolynomial(env, result);
}

/** `a + factor * b`. */
export function addScaledSize(env: SymIntOwner, a: Size, b: Size, factor: number): Size {
  const result = polynomialOf(a);
  addScaled(result, b, factor);
  return fromPolynomial(env, result);
}

/** A size split as `scale * base + constant`, with `base` primitive: no common factor, sign fixed. */
export interface LinearForm {
  readonly scale: number;
  readonly base: SymInt;
  readonly constant: number;
}

/** The linear form of a symbolic size; expressions that differ by a linear map share their base. */
export function linearFormOf(env: SymIntOwner, size: SymInt): LinearForm {
  if (size.kind !== 'sum') return { scale: 1, base: size, constant: 0 };
  const { args, constant } = size;
  const scale = scaleOf(size);
  const coeffs = size.coeffs.map((coeff) => coeff / scale);
  const base = args.length === 1 ? (args[0] as SymInt) : env.intern('sum', args, coeffs, 0);
  return { scale, base, constant };
}

/** Common factor of a sum's coefficients, with the sign of the first one. */
function scaleOf(sum: SymInt): number {
  return sum.coeffs.reduce(gcd, 0) * Math.sign(sum.coeffs[0]);
}
