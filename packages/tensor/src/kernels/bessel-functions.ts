/**
 * @file Modified Bessel functions of the first kind, orders 0 and 1, in double precision: the power
 * series, whose terms are all positive, and Hankel's expansion for large arguments.
 *
 * @see Abramowitz and Stegun 9.6.10, 9.7.1
 */

/** From here on the divergent expansion reaches double precision before it turns. */
const LARGE = 25;

/** Iₙ(x) · e⁻ˣ for x ≥ 0. */
function scaled(order: 0 | 1, x: number): number {
  if (x < LARGE) {
    const quarter = (x * x) / 4;
    let term = order === 0 ? 1 : x / 2;
    let sum = term;
    for (let k = 1; term > sum * 1e-18; k++) {
      term *= quarter / (k * (k + order));
      sum += term;
    }
    return sum * Math.exp(-x);
  }
  let term = 1;
  let sum = 1;
  for (let k = 1; k < 40 && Math.abs(term) > 1e-18; k++) {
    term *= ((2 * k - 1) ** 2 - 4 * order) / (8 * k * x);
    sum += term;
  }
  return sum / Math.sqrt(2 * Math.PI * x);
}

/** I₀(x) · e^-|x| */
export function besselI0e(x: number): number {
  return Number.isNaN(x) ? x : scaled(0, Math.abs(x));
}

/** I₁(x) · e^-|x| */
export function besselI1e(x: number): number {
  return Number.isNaN(x) ? x : Math.sign(x) * scaled(1, Math.abs(x));
}

/** e^|x| · y, which overflows only where the product does; NaN for what is infinite, as in PyTorch. */
function unscaled(x: number, y: number): number {
  const half = Math.exp(Math.abs(x) / 2);
  return half * y * half;
}

/** I₀(x) */
export function besselI0(x: number): number {
  return unscaled(Math.abs(x), besselI0e(x));
}

/** I₁(x) */
export function besselI1(x: number): number {
  return x === 0 ? x : unscaled(x, besselI1e(x));
}
