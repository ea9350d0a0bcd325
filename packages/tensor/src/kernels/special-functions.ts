/**
 * @file Special functions that `Math` lacks, in double precision.
 */
import { isBig } from './integer-arithmetic.js';

const TWO_OVER_SQRT_PI = 2 / Math.sqrt(Math.PI);

/** erfc(x) for x ≥ 2 by its continued fraction, evaluated backwards. */
function erfcTail(x: number): number {
  if (x > 27.3) return 0;
  let fraction = 0;
  for (let k = 80; k >= 1; k--) fraction = k / 2 / (x + fraction);
  return Math.exp(-x * x) / (Math.sqrt(Math.PI) * (x + fraction));
}

/** The error function. @see Abramowitz and Stegun 7.1.6, 7.1.14 */
export function erf(x: number): number {
  if (Number.isNaN(x)) return NaN;
  const magnitude = Math.abs(x);
  if (magnitude >= 2) return Math.sign(x) * (1 - erfcTail(magnitude));
  // Σ 2ⁿ x²ⁿ⁺¹ / (2n+1)!! times exp(-x²): all terms positive, no cancellation.
  let term = x;
  let sum = x;
  for (let n = 1; n < 80; n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
    if (Math.abs(term) < 1e-18 * Math.abs(sum)) break;
  }
  return TWO_OVER_SQRT_PI * Math.exp(-x * x) * sum;
}

/** 1 - erf(x), accurate in the upper tail. */
export function erfc(x: number): number {
  return x >= 2 ? erfcTail(x) : 1 - erf(x);
}

/** Horner's rule, highest coefficient first. */
function polynomial(coefficients: readonly number[], x: number): number {
  return coefficients.reduce((sum, c) => sum * x + c, 0);
}

// prettier-ignore
const ERFINV_CENTRE = [2.81022636e-8, 3.43273939e-7, -3.5233877e-6, -4.39150654e-6, 2.1858087e-4, -1.25372503e-3, -4.17768164e-3, 0.246640727, 1.50140941];
// prettier-ignore
const ERFINV_TAIL = [-2.00214257e-4, 1.00950558e-4, 1.34934322e-3, -3.67342844e-3, 5.73950773e-3, -7.6224613e-3, 9.43887047e-3, 1.00167406, 2.83297682];

/**
 * The inverse of erf: an estimate to single precision, then Newton's steps.
 *
 * @see M. Giles, Approximating the erfinv function
 */
export function erfinv(x: number): number {
  const size = Math.abs(x);
  if (!(size <= 1)) return NaN;
  if (size === 1) return x * Infinity;
  const w = -Math.log((1 - size) * (1 + size));
  let y =
    size * (w < 5 ? polynomial(ERFINV_CENTRE, w - 2.5) : polynomial(ERFINV_TAIL, Math.sqrt(w) - 3));
  for (let step = 0; step < 3; step++) {
    const excess = size < 0.5 ? erf(y) - size : 1 - size - erfc(y);
    y -= excess * Math.exp(y * y) * (Math.sqrt(Math.PI) / 2);
  }
  return x < 0 ? -y : x === 0 ? x : y;
}

/** The logistic function, without overflow for large negative x. */
export function logistic(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

/** log(base ** a + base ** b) */
export function addedLogs(a: number, b: number, base: number): number {
  if (a === b && Math.abs(a) === Infinity) return a;
  const rest = Math.log1p(base ** -Math.abs(a - b));
  return Math.max(a, b) + (base === 2 ? rest / Math.LN2 : rest);
}

/** Rounds halves to the even neighbour. */
export function roundHalfEven(x: number): number {
  const floor = Math.floor(x);
  const rest = x - floor;
  if (rest < 0.5 || (rest === 0.5 && floor % 2 === 0)) return floor;
  // What is rounded up to zero was negative.
  return floor === -1 ? -0 : floor + 1;
}

/** Sign, with 0 for 0 and, as in PyTorch, for NaN. */
export function signOf(x: number): number {
  return x > 0 ? 1 : x < 0 ? -1 : 0;
}

/** Quotient rounded down, as Python's `//`: exact also where a / b rounds up to a whole number. */
export function floorQuotient(a: number, b: number): number {
  if (b === 0) return a / b;
  if (isBig(a)) return (a - floorRemainder(a, b)) / b;
  const rest = a % b;
  let quotient = (a - rest) / b;
  if (rest !== 0 && rest < 0 !== b < 0) quotient -= 1;
  if (quotient === 0) return a / b < 0 || Object.is(a / b, -0) ? -0 : 0;
  const floor = Math.floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

/** Remainder with the sign of the divisor, as Python's `%`. */
export function floorRemainder(a: number, b: number): number {
  const rest = a % b;
  return rest && rest < 0 !== b < 0 ? rest + b : rest;
}
