/**
 * @file Division of polynomials with remainder, the exact part of symbolic floor division.
 */
import { compareMonomials, monomialFactors } from './order.js';
import {
  addScaled,
  constantPolynomial,
  fromPolynomial,
  monomialOf,
  multiplySizes,
  polynomialOf,
} from './polynomial.js';
import type { Polynomial } from './polynomial.js';
import type { Size } from './size.js';
import type { SymInt, SymIntOwner } from './sym-int.js';

/** Division stops after this many steps; quotients of real shape arithmetic have a few terms. */
const MAX_STEPS = 256;

/**
 * Splits `n` as `quotient * d + remainder`.
 *
 * Dividing by one monomial takes out every term that it divides. Dividing by a longer polynomial
 * only counts when it leaves a constant: other remainders are no simpler than `n`, which then comes
 * back whole with quotient 0.
 */
export function divideWithRemainder(
  env: SymIntOwner,
  n: Size,
  d: SymInt,
): { quotient: Size; remainder: Size } {
  const divisor = polynomialOf(d);
  const lead = [...divisor.terms.keys()].sort(compareMonomials)[0];
  const leadCoeff = divisor.terms.get(lead)!;
  const isMonomial = divisor.terms.size === 1 && divisor.constant === 0;
  const rest = polynomialOf(n);
  const quotient = constantPolynomial(0);
  for (let step = 0; step < MAX_STEPS; step++) {
    const term = nextDivisibleTerm(rest, lead, leadCoeff);
    if (term === undefined) break;
    const ratio = ratioOf(env, term, lead);
    const coeff = Math.trunc(rest.terms.get(term)! / leadCoeff);
    addScaled(quotient, ratio, coeff);
    addScaled(rest, multiplySizes(env, ratio, d), -coeff);
  }
  if (!isMonomial && rest.terms.size > 0) return { quotient: 0, remainder: n };
  return { quotient: fromPolynomial(env, quotient), remainder: fromPolynomial(env, rest) };
}

/** The highest term of `rest` that a multiple of `leadCoeff * lead` can shrink. */
function nextDivisibleTerm(rest: Polynomial, lead: SymInt, leadCoeff: number): SymInt | undefined {
  let best: SymInt | undefined;
  for (const [monomial, coeff] of rest.terms) {
    if (Math.abs(coeff) < Math.abs(leadCoeff) || !isDivisible(monomial, lead)) continue;
    if (best === undefined || compareMonomials(monomial, best) < 0) best = monomial;
  }
  return best;
}

function isDivisible(monomial: SymInt, by: SymInt): boolean {
  return remainingFactors(monomial, by) !== undefined;
}

function ratioOf(env: SymIntOwner, monomial: SymInt, by: SymInt): Size {
  const factors = remainingFactors(monomial, by)!;
  return factors.length === 0 ? 1 : monomialOf(env, factors);
}

/** The factors of `monomial` without those of `by`; undefined when one is missing. */
function remainingFactors(monomial: SymInt, by: SymInt): SymInt[] | undefined {
  const factors = [...monomialFactors(monomial)];
  for (const factor of monomialFactors(by)) {
    const at = factors.indexOf(factor);
    if (at < 0) return undefined;
    factors.splice(at, 1);
  }
  return factors;
}
