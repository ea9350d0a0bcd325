/**
 * @file Gamma-distributed numbers of scale 1, and how they move with the shape parameter.
 */
import type { NumberStream } from '../rng/number-stream.js';
import { digamma } from './gamma-functions.js';

/**
 * A number of the gamma distribution with shape `alpha` > 0.
 *
 * @see Marsaglia and Tsang, "A simple method for generating gamma variables", 2000
 */
export function sampleGamma(alpha: number, numbers: NumberStream): number {
  if (!(alpha > 0)) return alpha === 0 ? 0 : NaN;
  if (alpha === Infinity) return Infinity;
  // Below 1 the method rejects too much: shape alpha + 1, scaled down.
  if (alpha < 1) {
    const scale = Math.pow(numbers.uniform(), 1 / alpha);
    return scale === 0 ? 0 : scale * sampleGamma(alpha + 1, numbers);
  }
  const d = alpha - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = numbers.normal();
    const root = 1 + c * x;
    if (root <= 0) continue;
    const v = root * root * root;
    if (Math.log(numbers.uniform()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v;
  }
}

/** Nodes of the double exponential rule for integrals from 0 to ∞. */
const NODES = 160;
const FIRST_NODE = -4.5;
const STEP = (8.5 - FIRST_NODE) / NODES;

/** ∫₀^∞ f, by the trapezoid rule in u for v = exp(u - exp(-u)). @see Takahasi and Mori, 1974 */
function integrate(f: (v: number) => number): number {
  let total = 0;
  for (let k = 0; k <= NODES; k++) {
    const u = FIRST_NODE + k * STEP;
    const shrink = Math.exp(-u);
    const v = Math.exp(u - shrink);
    const value = f(v);
    if (value !== 0) total += value * v * (1 + shrink);
  }
  return total * STEP;
}

/**
 * dx/dα of a gamma-distributed x while its place in the distribution stays: -(∂P(α, x)/∂α) / p(x).
 *
 * Both tails of the distribution are integrals relative to the density at x, so that neither loses digits.
 *
 * @see Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients", 2018
 */
export function gammaSlope(alpha: number, x: number): number {
  if (Number.isNaN(alpha) || Number.isNaN(x) || !(alpha > 0) || x < 0) return NaN;
  if (x === 0) return 0;
  const mean = digamma(alpha);
  if (x > alpha + 1)
    return integrate((s) => {
      const weight = Math.exp((alpha - 1) * Math.log1p(s / x) - s);
      return weight === 0 ? 0 : weight * (Math.log(x + s) - mean);
    });
  const logarithm = Math.log(x);
  // The lower tail at t = x e⁻ᵛ. The scale of v is that of the integrand.
  const scale = 1 / Math.max(alpha, 1e-3);
  return (
    -x *
    scale *
    integrate((w) => {
      const v = w * scale;
      const weight = Math.exp(-alpha * v - x * Math.expm1(-v));
      return weight === 0 ? 0 : weight * (logarithm - v - mean);
    })
  );
}
