/** @file Reference error function in f64, for tests: a series with positive terms, relative error below 1e-15. */

/** erf(x) = 2/√π · e^-x² · Σ 2ⁿ x²ⁿ⁺¹ / (1·3·…·(2n+1)). */
export function erf(x: number): number {
  const a = Math.abs(x);
  if (!(a < 6)) return Number.isNaN(x) ? x : Math.sign(x);
  let term = a;
  let sum = a;
  for (let n = 1; term > sum * 1e-18; n++) {
    term *= (2 * a * a) / (2 * n + 1);
    sum += term;
  }
  const value = (2 / Math.sqrt(Math.PI)) * Math.exp(-a * a) * sum;
  return x < 0 || Object.is(x, -0) ? -value : value;
}
