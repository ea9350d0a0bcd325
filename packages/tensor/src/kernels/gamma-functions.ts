/**
 * @file The gamma function's logarithm and derivatives, in double precision.
 *
 * Small arguments are shifted up by the recurrence, large ones use the asymptotic series in Bernoulli
 * numbers, negative ones the reflection formulas. @see Abramowitz and Stegun 6.1, 6.3, 6.4, 23.2
 */

/** B₂, B₄, … B₂₄ */
const BERNOULLI: readonly number[] = [
  1 / 6,
  -1 / 30,
  1 / 42,
  -1 / 30,
  5 / 66,
  -691 / 2730,
  7 / 6,
  -3617 / 510,
  43867 / 798,
  -174611 / 330,
  854513 / 138,
  -236364091 / 2730,
];

/** From here on ten terms of an asymptotic series reach double precision. */
const LARGE = 12;

/** sin(πx), exact at integers. */
function sinPi(x: number): number {
  const rest = x - 2 * Math.round(x / 2);
  return Math.abs(rest) === 1 ? 0 : Math.sin(Math.PI * rest);
}

/** log |Γ(x)|; ∞ at 0, -1, -2, … */
export function logGamma(x: number): number {
  if (Math.abs(x) === Infinity) return Infinity;
  if (x < 0.5) return Math.log(Math.PI / Math.abs(sinPi(x))) - logGamma(1 - x);
  if (x === 1 || x === 2) return 0;
  let product = 1;
  let z = x;
  for (; z < LARGE; z++) product *= z;
  let series = 0;
  for (let k = 10; k >= 1; k--)
    series = series / (z * z) + BERNOULLI[k - 1]! / (2 * k * (2 * k - 1));
  return (z - 0.5) * Math.log(z) - z + 0.5 * Math.log(2 * Math.PI) + series / z - Math.log(product);
}

/** d/dx log Γ(x); ∓∞ at ±0, NaN at negative integers. */
export function digamma(x: number): number {
  if (x === 0) return Object.is(x, -0) ? Infinity : -Infinity;
  if (x < 0) {
    if (x === Math.trunc(x)) return NaN;
    const rest = x - Math.trunc(x);
    return digamma(1 - x) - Math.PI / Math.tan(Math.PI * rest);
  }
  if (x === Infinity) return x;
  let shift = 0;
  let z = x;
  for (; z < LARGE; z++) shift += 1 / z;
  let series = 0;
  for (let k = 10; k >= 1; k--) series = series / (z * z) + BERNOULLI[k - 1]! / (2 * k);
  return Math.log(z) - 0.5 / z - series / (z * z) - shift;
}

/** Hurwitz zeta Σ (q + k)⁻ˢ for s > 1, by Euler–Maclaurin; NaN where it is not real. */
export function zeta(s: number, q: number): number {
  if (s === 1) return Infinity;
  // Of what is infinite it is NaN, as in PyTorch.
  if (!(s >= 1 && q < Infinity)) return NaN;
  if (q <= 0) {
    if (q === Math.floor(q)) return Infinity;
    if (s !== Math.floor(s)) return NaN;
  }
  let sum = 0;
  let z = q;
  for (; z < LARGE; z++) sum += z ** -s;
  let tail = z ** (1 - s) / (s - 1) + 0.5 * z ** -s;
  // B₂ₖ/(2k)! · s(s+1)…(s+2k-2) · z^(1-s-2k)
  let factor = (s * z ** (-s - 1)) / 2;
  for (let k = 1; k <= BERNOULLI.length; k++) {
    tail += BERNOULLI[k - 1]! * factor;
    factor *= ((s + 2 * k - 1) * (s + 2 * k)) / ((2 * k + 1) * (2 * k + 2)) / (z * z);
  }
  return sum + tail;
}

/**
 * The n-th derivative of digamma.
 *
 * @param round precision in which the first one reflects: PyTorch rounds πx to the dtype before the sine
 */
export function polygamma(n: number, x: number, round: (x: number) => number): number {
  if (n === 0) return digamma(x);
  if (n === 1 && x === Infinity) return 0;
  if (n === 1 && x < 0.5) {
    const sine = round(Math.sin(round(round(Math.PI) * x)));
    return (Math.PI / sine) ** 2 - polygamma(1, 1 - x, round);
  }
  let factorial = 1;
  for (let k = 2; k <= n; k++) factorial *= k;
  return (n % 2 === 0 ? -1 : 1) * factorial * zeta(n + 1, x);
}
