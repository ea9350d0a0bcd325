/**
 * @file The regularized incomplete gamma functions in double precision, by series and continued fraction.
 *
 * Both take more terms near x = a, as √a, so for huge a they are what Temme's expansion says. None needs tables.
 * @see Numerical Recipes 6.2; Temme, Uniform asymptotics
 */
import { logGamma } from './gamma-functions.js';
import { erfc } from './special-functions.js';

/** Relative size of what is left out. */
const SMALLEST = 2 ** -53;
/** From here on Stirling's series for Γ(a) has double precision in five terms. */
const LARGE = 50;
/** From here on the first term of Temme's expansion has double precision. */
const HUGE = 2 ** 26;

/** log(1 + d) - d without cancellation. */
function log1pLess(d: number): number {
  if (Math.abs(d) > 0.3) return Math.log1p(d) - d;
  let [sum, power] = [0, d];
  for (let k = 2; k < 60 && Math.abs(power) > SMALLEST * SMALLEST; k++) {
    power *= -d;
    sum += power / k;
  }
  return sum;
}

/** xᵃ e⁻ˣ / Γ(a) */
function density(a: number, x: number): number {
  if (a < LARGE) return Math.exp(a * Math.log(x) - x - logGamma(a));
  const r = 1 / (a * a);
  const stirling = (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r / 1188)))) / a;
  return Math.exp(a * log1pLess((x - a) / a) - stirling) * Math.sqrt(a / (2 * Math.PI));
}

/** The lower function, for x up to about a. */
function lowerSeries(a: number, x: number): number {
  const factor = density(a, x);
  if (factor === 0) return 0;
  let [term, sum] = [1, 1];
  for (let n = a + 1; term > SMALLEST * sum; n++) {
    term *= x / n;
    sum += term;
  }
  return (sum * factor) / a;
}

/** The upper function for x up to about 1, where it is not what the lower one leaves. */
function upperSeries(a: number, x: number): number {
  let [factor, sum] = [1, 0];
  for (let n = 1; ; n++) {
    factor *= -x / n;
    const term = factor / (a + n);
    sum += term;
    if (Math.abs(term) <= SMALLEST * Math.abs(sum)) break;
  }
  const logX = Math.log(x);
  return -Math.expm1(a * logX - logGamma(1 + a)) - Math.exp(a * logX - logGamma(a)) * sum;
}

/** The upper function, for x from about a; Lentz's method. */
function upperFraction(a: number, x: number): number {
  const factor = density(a, x);
  if (factor === 0) return 0;
  let b = x + 1 - a;
  let c = 1 / Number.MIN_VALUE;
  let d = 1 / b;
  let h = d;
  for (let n = 1; ; n++) {
    const by = n * (a - n);
    b += 2;
    d = 1 / (by * d + b);
    c = b + by / c;
    h *= c * d;
    if (Math.abs(c * d - 1) <= 2 * SMALLEST || n > 1e7) return factor * h;
  }
}

/** Both functions of a huge `a`: those of a normal variable, corrected by the first term of the expansion. */
function ofHuge(a: number, x: number): readonly [lower: number, upper: number] {
  const d = (x - a) / a;
  const eta = Math.sign(d) * Math.sqrt(-2 * log1pLess(d));
  const z = eta * Math.sqrt(a / 2);
  // Farther from a both are 0 and 1.
  if (Math.abs(eta) > 1) return z < 0 ? [0, 1] : [1, 0];
  // 1 / d - 1 / eta in powers of eta, of which few count: the factor is 0 soon.
  const first = -1 / 3 + eta * (1 / 12 - eta * (2 / 135 - eta / 864));
  const more = (Math.exp(-z * z) / Math.sqrt(2 * Math.PI * a)) * first;
  return [erfc(-z) / 2 - more, erfc(z) / 2 + more];
}

/** Both at once: what is computed and what it leaves of 1. */
function both(a: number, x: number): readonly [lower: number, upper: number] {
  if (a < 0 || x < 0) return [NaN, NaN];
  // In PyTorch's order, which decides for NaN.
  if (a === 0) return x > 0 ? [1, 0] : [NaN, NaN];
  if (x === 0) return [0, 1];
  if (a === Infinity) return x === Infinity ? [NaN, NaN] : [0, 1];
  if (x === Infinity) return [1, 0];
  if (Number.isNaN(a + x)) return [NaN, NaN];
  if (a > HUGE) return ofHuge(a, x);
  const isUpper = x > 1.1 ? x > a : x <= 0.5 ? -0.4 / Math.log(x) >= a : x * 1.1 >= a;
  if (!isUpper) {
    const lower = lowerSeries(a, x);
    return [lower, 1 - lower];
  }
  const upper = x > 1.1 ? upperFraction(a, x) : upperSeries(a, x);
  return [1 - upper, upper];
}

/** γ(a, x) / Γ(a) */
export function lowerGamma(a: number, x: number): number {
  // What is small is computed itself.
  return x > 0 && a > 0 && a <= HUGE && (x <= a || x <= 1.1) ? lowerSeries(a, x) : both(a, x)[0];
}

/** Γ(a, x) / Γ(a) */
export function upperGamma(a: number, x: number): number {
  return both(a, x)[1];
}
