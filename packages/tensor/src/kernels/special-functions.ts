/**
 * @file Special functions that `Math` lacks, in double precision.
 */

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

/** The logistic function, without overflow for large negative x. */
export function logistic(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

/** Rounds halves to the even neighbour. */
export function roundHalfEven(x: number): number {
  const floor = Math.floor(x);
  const rest = x - floor;
  if (rest < 0.5) return floor;
  if (rest > 0.5) return floor + 1;
  return floor % 2 === 0 ? floor : floor + 1;
}

/** Sign, with 0 for 0 and NaN for NaN. */
export function signOf(x: number): number {
  return x > 0 ? 1 : x < 0 ? -1 : x;
}

/** Quotient rounded down, as Python's `//`: exact also where a / b rounds up to a whole number. */
export function floorQuotient(a: number, b: number): number {
  if (b === 0) return a / b;
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
  return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest;
}
