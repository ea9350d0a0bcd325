/**
 * @file Chebyshev's polynomials of high degree, by the angle of which they are cosines and sines.
 *
 * Below 1 a magnitude is cos θ, above it is cosh u, and negative arguments are positive ones with a sign. PyTorch takes
 * the angle too, and above 1 the recurrence, which is NaN from two steps after it overflows: so are these. At 1 the
 * polynomials are their value and slope, so that gradients are right there.
 */
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { toDtype } from '../arrange/copy.js';
import { add, mul, neg, sub } from '../pointwise/arithmetic.js';
import { eq, gt, isinf, lt } from '../pointwise/comparison.js';
import { div } from '../pointwise/division.js';
import { logicalOr } from '../pointwise/logical.js';
import { floor } from '../pointwise/rounding.js';
import { cos, sin } from '../pointwise/trigonometric.js';
import { acos, acosh, cosh, sinh } from '../pointwise/trigonometric-inverse.js';
import { where } from '../pointwise/where.js';
import { sizeOf } from './positive.js';

/** Degrees up to here are computed by the recurrence. */
export const CHEBYSHEV_STEPS = 64;

/** The first to the fourth kind. */
export type ChebyshevKind = 'T' | 'U' | 'V' | 'W';

type Degree = Tensor | number;
type Unary = (x: Tensor) => Tensor;

/** An angle of a magnitude, and the functions of it. */
type Angle = readonly [of: Unary, cosine: Unary, sine: Unary];
const BELOW: Angle = [acos, cos, sin];
const ABOVE: Angle = [acosh, cosh, sinh];

/** A polynomial of a magnitude on one side of 1. */
function onSide(kind: ChebyshevKind, [of, cosine, sine]: Angle, size: Tensor, n: Degree): Tensor {
  const angle = of(size);
  if (kind === 'T') return cosine(mul(angle, n));
  if (kind === 'U') return div(sine(mul(angle, plus(n, 1))), sine(angle));
  const whole = mul(angle, plus(n, 0.5));
  const half = mul(angle, 0.5);
  return kind === 'V' ? div(cosine(whole), cosine(half)) : div(sine(whole), sine(half));
}

/** Sums and products of what may be numbers. */
const plus = (n: Degree, more: number): Degree => (isTensor(n) ? add(n, more) : n + more);
const times = (a: Degree, b: Degree): Degree =>
  isTensor(a) ? mul(a, b) : isTensor(b) ? mul(b, a) : a * b;

/** The value and the slope at 1. */
function atOne(kind: ChebyshevKind, n: Degree): readonly [value: Degree, slope: Degree] {
  const product = times(n, plus(n, 1));
  const odd = plus(times(n, 2), 1);
  if (kind === 'T') return [1, times(n, n)];
  if (kind === 'V') return [1, product];
  if (kind === 'U') return [plus(n, 1), times(times(product, plus(n, 2)), 1 / 3)];
  return [odd, times(times(product, odd), 1 / 3)];
}

/** A polynomial of a magnitude. */
function ofMagnitude(kind: ChebyshevKind, size: Tensor, n: Degree): Tensor {
  const isAbove = gt(size, 1);
  const isOne = eq(size, 1);
  const below = onSide(kind, BELOW, where(logicalOr(isAbove, isOne), 0, size), n);
  const large = where(isAbove, size, 2);
  const isLost = isinf(onSide(kind, ABOVE, large, plus(n, -2)));
  const above = where(isLost, NaN, onSide(kind, ABOVE, large, n));
  const [value, slope] = atOne(kind, n);
  const one = add(mul(sub(size, 1), slope), value);
  return where(isOne, one, where(isAbove, above, below));
}

/** The third kind of -x is the fourth of x, up to sign. */
const MIRRORED: Readonly<Record<ChebyshevKind, ChebyshevKind>> = { T: 'T', U: 'U', V: 'W', W: 'V' };

/** The polynomial of a degree above 2 that is a whole number, or a tensor of those that broadcasts. */
export function chebyshevOfHighDegree(kind: ChebyshevKind, x: Tensor, degree: Degree): Tensor {
  const n = isTensor(degree) ? toDtype(degree, x.dtype) : degree;
  const size = sizeOf(x);
  const positive = ofMagnitude(kind, size, n);
  const negative = MIRRORED[kind] === kind ? positive : ofMagnitude(MIRRORED[kind], size, n);
  const isOdd = isTensor(n) ? gt(sub(mul(n, 0.5), floor(mul(n, 0.5))), 0) : n % 2 === 1;
  const mirrored = isTensor(isOdd)
    ? where(isOdd, neg(negative), negative)
    : isOdd
      ? neg(negative)
      : negative;
  return where(lt(x, 0), mirrored, positive);
}
