/**
 * @file Modified Bessel functions, orders 0 and 1. Of the second kind by Chebyshev's polynomials: in x² up to 2, with a
 * logarithm, and in 1/x beyond it. Derivatives are those of what they are made of; PyTorch has none.
 *
 * @see Cephes, k0, k1
 */
import type { Tensor } from '../../tensor.js';
import { add, mul, neg, sub } from '../pointwise/arithmetic.js';
import { gt, le } from '../pointwise/comparison.js';
import { div } from '../pointwise/division.js';
import { exp, log, reciprocal, sqrt } from '../pointwise/exponential.js';
import { square } from '../pointwise/power.js';
import { i0, i1 } from '../pointwise/modified-bessel-i.js';
import { where } from '../pointwise/where.js';
import { chebyshevSum } from './horner.js';
import { positive, wide } from './positive.js';

/** I₀(x). @throws dtype-unsupported for halves @see torch.special.modified_bessel_i0 */
export function modifiedBesselI0(self: Tensor): Tensor {
  return i0(wide('modified_bessel_i0', self));
}

/** I₁(x). @throws dtype-unsupported for halves @see torch.special.modified_bessel_i1 */
export function modifiedBesselI1(self: Tensor): Tensor {
  return i1(wide('modified_bessel_i1', self));
}

/** Of one order, in Chebyshev's polynomials of x²/2 - 1 and of 4/x - 1. */
interface Tables {
  readonly near: readonly number[];
  readonly far: readonly number[];
}

// prettier-ignore
const ZERO: Tables = {
  near: [-0.5353273932339028, 0.3442898999246285, 0.0359799365153615, 0.001264615411446926, 2.286212103119452e-5, 2.5347910790261494e-7, 1.904516377220209e-9, 1.0349695257633842e-11, 4.25981614279661e-14, 1.374465435613523e-16],
  far: [2.4403030820659555, -0.0314481013119645, 0.0015698838857300533, -0.00012849549581627802, 1.39498137188765e-5, -1.8317555227191195e-6, 2.766813639445015e-7, -4.660489897687948e-8, 8.574034017414225e-9, -1.69753450938906e-9, 3.577397281400301e-10, -7.957489244477107e-11, 1.8559491149547177e-11, -4.514597883373944e-12, 1.140340588208475e-12, -2.9800969231727303e-13, 8.032890775363575e-14, -2.2275133269916698e-14, 6.3400764774050706e-15, -1.848593377343779e-15, 5.512055978524319e-16, -1.678231096805412e-16, 5.2103915050390274e-17, -1.6475804301524212e-17, 5.300433772686263e-18],
};
// prettier-ignore
const ONE: Tables = {
  near: [1.5253002273389478, -0.3531559607765449, -0.12261118082265715, -0.006975723859639864, -0.0001730288957513052, -2.4334061415659684e-6, -2.213387630734726e-8, -1.4114883926335278e-10, -6.666901694199329e-13, -2.427449850519366e-15, -7.023863479386288e-18],
  far: [2.7206261904844427, 0.10392373657681724, -0.002857816859622779, 0.00019521551847135162, -1.936197974166083e-5, 2.406484947837217e-6, -3.5019606030878126e-7, 5.7410841254500495e-8, -1.0345762465678097e-8, 2.015049755197033e-9, -4.1903547593418965e-10, 9.218315187605006e-11, -2.1299678384275683e-11, 5.13963967348173e-12, -1.2891739609510289e-12, 3.3484196660784293e-13, -8.976705182324994e-14, 2.4771544244813043e-14, -7.019837090418314e-15, 2.038703165624334e-15, -6.057047248373319e-16, 1.838093544366639e-16, -5.689462558442859e-17, 1.7940508731475592e-17, -5.756744483665017e-18],
};

/** Where the branches meet. */
const END = 2;
/** How many coefficients are enough for float32. */
const FEW = 11;

/** K(x), or K(x) · eˣ; ∞ at 0 and NaN below. */
function secondKind(
  x: Tensor,
  tables: Tables,
  isScaled: boolean,
  /** What there is for x ≤ 2, given the sum of the polynomials and log(x/2). */
  inside: (x: Tensor, sum: Tensor, log: Tensor) => Tensor,
): Tensor {
  const count = x.dtype === 'float64' ? Infinity : FEW;
  const isNear = le(x, END);
  const close = positive(where(isNear, x, 1));
  const even = sub(mul(square(close), 0.5), 1);
  const half = log(mul(close, 0.5));
  const found = inside(close, chebyshevSum(even, tables.near.slice(0, count)), half);
  const large = where(isNear, 2 * END, x);
  const inverse = sub(mul(reciprocal(large), 4), 1);
  const tail = div(chebyshevSum(inverse, tables.far.slice(0, count)), sqrt(large));
  const value = isScaled
    ? where(isNear, mul(found, exp(close)), tail)
    : where(isNear, found, mul(tail, exp(neg(large))));
  // ∞ at 0 with its derivative, NaN below.
  return where(gt(x, 0), value, neg(log(where(gt(x, 0), 1, x))));
}

function orderZero(x: Tensor, isScaled: boolean): Tensor {
  return secondKind(x, ZERO, isScaled, (close, sum, half) => sub(sum, mul(half, i0(close))));
}

function orderOne(x: Tensor, isScaled: boolean): Tensor {
  return secondKind(x, ONE, isScaled, (close, sum, half) =>
    add(mul(half, i1(close)), div(sum, close)),
  );
}

/** K₀(x); ∞ at 0, NaN below. @throws dtype-unsupported for halves @see torch.special.modified_bessel_k0 */
export function modifiedBesselK0(self: Tensor): Tensor {
  return orderZero(wide('modified_bessel_k0', self), false);
}

/** K₁(x); ∞ at 0, NaN below. @throws dtype-unsupported for halves @see torch.special.modified_bessel_k1 */
export function modifiedBesselK1(self: Tensor): Tensor {
  return orderOne(wide('modified_bessel_k1', self), false);
}

/** K₀(x) · eˣ. @throws dtype-unsupported for halves @see torch.special.scaled_modified_bessel_k0 */
export function scaledModifiedBesselK0(self: Tensor): Tensor {
  return orderZero(wide('scaled_modified_bessel_k0', self), true);
}

/** K₁(x) · eˣ. @throws dtype-unsupported for halves @see torch.special.scaled_modified_bessel_k1 */
export function scaledModifiedBesselK1(self: Tensor): Tensor {
  return orderOne(wide('scaled_modified_bessel_k1', self), true);
}
