/**
 * @file The normal distribution's function, its logarithm and inverse, the scaled complementary error function, entropy.
 *
 * Made of other operators, so that they run wherever those do and have derivatives of every order. Where branches are
 * chosen by value each has an argument that it can take: what is not chosen would be NaN in gradients. Functions whose
 * derivatives are PyTorch's at the ends of their domains are operators with a derivative of their own.
 *
 * @see M. Shepherd and J. Laframboise, Chebyshev approximation of (1 + 2x) exp(x²) erfc x; Cephes, ndtri
 */
import { callOp } from '../../dispatch/dispatcher.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { add, mul, neg, sub } from '../pointwise/arithmetic.js';
import { eq, gt, lt } from '../pointwise/comparison.js';
import { div } from '../pointwise/division.js';
import { exp, log, log1p, reciprocal, sqrt } from '../pointwise/exponential.js';
import { clampMax } from '../pointwise/extremum.js';
import { xlogy } from '../pointwise/log-domain.js';
import { logicalOr } from '../pointwise/logical.js';
import { square } from '../pointwise/power.js';
import { rsub } from '../pointwise/rsub.js';
import { erf, erfc } from '../pointwise/trigonometric.js';
import { where } from '../pointwise/where.js';
import { composed } from './composed.js';
import { floating } from './floating.js';
import { chebyshevSum, quotient } from './horner.js';

/** Of (1 + 2x) exp(x²) erfc(x) in t = (x - 3.75) / (x + 3.75), to the last digit of float64; fourteen are enough for float32. */
// prettier-ignore
const ERFCX = [2.35515786913480351, -0.00459005458064647733, -0.0842491333665179156, 0.0592099399981918905, -0.0266586684353057523, 0.00907499767070526509, -0.00241316354041760819, 0.000490775836525808632, -6.91697330250120637e-5, 4.13902798607301017e-6, 7.74038306619849067e-7, -2.18864010492343957e-7, 1.07649994656709104e-8, 4.5219598112182869e-9, -7.7544002088313511e-10, -6.31808834088668444e-11, 2.86879501093066996e-11, 1.94558685457774052e-13, -9.65469674843343318e-13, 3.25254814814879629e-14, 3.34781194828686101e-14, -1.86456288041876548e-15, -1.25079505306832605e-15, 7.41823525667697474e-17];

/**
 * exp(x²) · erfc(x). Its gradient at ∞ is the limit, 0, where PyTorch's formula is ∞ - ∞.
 *
 * @see torch.special.erfcx
 */
export function erfcx(self: Tensor): Tensor {
  const x = floating(self);
  const isLow = lt(x, 0);
  // Not abs, whose derivative at 0 is 0.
  const size = where(isLow, neg(x), x);
  const t = rsub(mul(reciprocal(add(size, 3.75)), 7.5), 1);
  const known = x.dtype === 'float64' ? ERFCX : ERFCX.slice(0, 14);
  const upper = div(chebyshevSum(t, known), add(mul(size, 2), 1));
  const low = mul(exp(square(clampMax(x, 0))), 2);
  return where(isLow, sub(low, upper), upper);
}

/** The share of standard normal numbers up to x. @see torch.special.ndtr */
export function ndtr(self: Tensor): Tensor {
  return mul(add(erf(mul(floating(self), Math.SQRT1_2)), 1), 0.5);
}

const logNdtrOp: OpOverload<Tensor> = defineOp('aten::special_log_ndtr(Tensor self) -> Tensor', {
  ...composed(['self'], (x) => {
    const t = mul(x, Math.SQRT1_2);
    const isLow = lt(x, -1);
    const low = where(isLow, t, -1);
    const tail = sub(log(mul(erfcx(neg(low)), 0.5)), square(low));
    return where(isLow, tail, log1p(mul(erfc(where(isLow, 0, t)), -0.5)));
  }),
  saved: ['self', 'out'],
  vjp: ({ self }, { grad, out }) => ({
    // The density divided by the share below. Each of the two forms cancels digits where the other is taken.
    self: () => {
      const isLow = lt(self, -1);
      const low = where(isLow, self, -1);
      const tail = mul(reciprocal(erfcx(mul(low, -Math.SQRT1_2))), Math.sqrt(2 / Math.PI));
      const exponent = neg(add(out, mul(square(self), 0.5)));
      const rest = mul(exp(where(isLow, 0, exponent)), 1 / Math.sqrt(2 * Math.PI));
      return mul(grad, where(isLow, tail, rest));
    },
  }),
});

/** The logarithm of `ndtr`, also where that is 0. @see torch.special.log_ndtr */
export function logNdtr(self: Tensor): Tensor {
  return callOp(logNdtrOp, [self]);
}

// prettier-ignore
const CENTRE = [[-5.99633501014107895267e1, 9.80010754185999661536e1, -5.66762857469070293439e1, 1.39312609387279679503e1, -1.23916583867381258016], [1, 1.95448858338141759834, 4.67627912898881538453, 8.63602421390890590575e1, -2.25462687854119370527e2, 2.00260212380060660359e2, -8.20372256168333339912e1, 1.59056225126211695515e1, -1.18331621121330003142]] as const;
// prettier-ignore
const TAIL = [[4.05544892305962419923, 3.15251094599893866154e1, 5.71628192246421288162e1, 4.40805073893200834700e1, 1.46849561928858024014e1, 2.18663306850790267539, -1.40256079171354495875e-1, -3.50424626827848203418e-2, -8.57456785154685413611e-4], [1, 1.57799883256466749731e1, 4.53907635128879210584e1, 4.13172038254672030440e1, 1.50425385692907503408e1, 2.50464946208309415979, -1.42182922854787788574e-1, -3.80806407691578277194e-2, -9.33259480895457427372e-4]] as const;
// prettier-ignore
const FAR = [[3.23774891776946035970, 6.91522889068984211695, 3.93881025292474443415, 1.33303460815807542389, 2.01485389549179081538e-1, 1.23716634817820021358e-2, 3.01581553508235416007e-4, 2.65806974686737550832e-6, 6.23974539184983293730e-9], [1, 6.02427039364742014255, 3.67983563856160859403, 1.37702099489081330271, 2.16236993594496635890e-1, 1.34204006088543189037e-2, 3.28014464682127739104e-4, 2.89247864745380683936e-6, 6.79019408009981274425e-9]] as const;

/** The x whose `ndtr` is p, in pieces. */
function quantile(p: Tensor): Tensor {
  const edge = Math.exp(-2);
  const isUpper = gt(p, 1 - edge);
  const y = where(isUpper, rsub(p, 1), p);
  const isTail = lt(y, edge);
  const centre = sub(where(isTail, 0.5, y), 0.5);
  const squared = square(centre);
  const middle = add(centre, mul(centre, mul(squared, quotient(squared, CENTRE))));
  const isInside = gt(y, 0);
  const x = sqrt(mul(log(where(isTail.logicalAnd(isInside), y, edge)), -2));
  const z = reciprocal(x);
  const [near, far] = [quotient(z, TAIL), quotient(z, FAR)];
  const tail = sub(mul(z, where(lt(x, 8), near, far)), sub(x, div(log(x), x)));
  const signed = where(isUpper, neg(tail), tail);
  const inside = where(isTail, signed, mul(middle, Math.sqrt(2 * Math.PI)));
  const ends = where(eq(p, 0), -Infinity, where(eq(p, 1), Infinity, inside));
  return where(logicalOr(lt(p, 0), gt(p, 1)), NaN, ends);
}

const ndtriOp: OpOverload<Tensor> = defineOp('aten::special_ndtri(Tensor self) -> Tensor', {
  ...composed(['self'], quantile),
  saved: ['out'],
  vjp: (_args, { grad, out }) => ({
    self: () => mul(grad, mul(exp(mul(square(out), 0.5)), Math.sqrt(2 * Math.PI))),
  }),
});

/** The x whose `ndtr` is p; ∓∞ at 0 and 1, NaN outside. @see torch.special.ndtri */
export function ndtri(self: Tensor): Tensor {
  return callOp(ndtriOp, [self]);
}

const entrOp: OpOverload<Tensor> = defineOp('aten::special_entr(Tensor self) -> Tensor', {
  ...composed(['self'], (x) => where(lt(x, 0), -Infinity, neg(xlogy(x, x)))),
  saved: ['self'],
  vjp: ({ self }, { grad }) => ({ self: () => mul(grad, neg(add(log(self), 1))) }),
});

/** -x log x; 0 at 0 and -∞ below. @see torch.special.entr */
export function entr(self: Tensor): Tensor {
  return callOp(entrOp, [self]);
}
