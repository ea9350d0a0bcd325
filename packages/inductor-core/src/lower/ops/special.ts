/**
 * @file Special functions as formulas over scalar operations: gamma, Bessel, inverse error function.
 *
 * Each has as many terms as its type needs: errors are a few units in the last place of float32, and
 * below 1e-12 relative in float64. No branch depends on a value: both sides of a choice are computed.
 *
 * @see Abramowitz and Stegun 6.1, 6.3, 6.4, 9.6; M. Giles, Approximating the erfinv function
 */
import type { Expr } from '../../ir/expr.js';
import { elementwise } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import { formula } from './pointwise.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** B₂ₖ/2k for k = 1, 2, … */
const DIGAMMA_SERIES: readonly number[] = [
  1 / 12,
  -1 / 120,
  1 / 252,
  -1 / 240,
  1 / 132,
  -691 / 32760,
  1 / 12,
  -3617 / 8160,
  43867 / 14364,
  -174611 / 6600,
];

const isDouble = (x: Expr): boolean => x.dtype === 'float64';

/** From which argument on the asymptotic series is used, and of how many terms. */
function asymptotic(x: Expr): { readonly from: number; readonly terms: number } {
  return isDouble(x) ? { from: 12, terms: 10 } : { from: 6, terms: 5 };
}

/** c₀ + c₁x + … */
function polynomial(m: ExprMath, x: Expr, coefficients: readonly number[]): Expr {
  return coefficients
    .slice(0, -1)
    .reduceRight<Expr>(
      (sum, c) => m.add(m.mul(sum, x), c),
      m.term(coefficients[coefficients.length - 1]!, x.dtype),
    );
}

/** x less the nearest integer: the same sine and tangent of π times it, up to sign. */
function offInteger(m: ExprMath, x: Expr): Expr {
  return m.sub(x, m.round(x));
}

function lgamma(m: ExprMath, x: Expr): Expr {
  const { from, terms } = asymptotic(x);
  const isReflected = m.lt(x, 0.5);
  const y = m.where(isReflected, m.sub(1, x), x);
  const isSmall = m.lt(y, from);
  const z = m.where(isSmall, m.add(y, from), y);
  let product = y;
  for (let k = 1; k < from; k++) product = m.mul(product, m.add(y, k));
  const inverse = m.reciprocal(z);
  const series = polynomial(
    m,
    m.square(inverse),
    DIGAMMA_SERIES.slice(0, terms).map((c, k) => c / (2 * k + 1)),
  );
  const stirling = m.add(
    m.sub(m.mul(m.sub(z, 0.5), m.log(z)), z),
    m.add(m.mul(series, inverse), 0.5 * Math.log(2 * Math.PI)),
  );
  // What is left of the difference at 1 and 2 is rounding.
  const isZero = m.eq(m.abs(m.sub(y, 1.5)), 0.5);
  const value = m.where(isZero, 0, m.sub(stirling, m.log(m.where(isSmall, product, 1))));
  const sine = m.abs(m.sin(m.mul(offInteger(m, x), Math.PI)));
  const reflected = m.sub(m.neg(m.log(m.mul(sine, 1 / Math.PI))), value);
  return m.where(m.isinf(x), Infinity, m.where(isReflected, reflected, value));
}

function digamma(m: ExprMath, x: Expr): Expr {
  const { from, terms } = asymptotic(x);
  const isReflected = m.lt(x, 0);
  const y = m.where(isReflected, m.sub(1, x), x);
  const isSmall = m.lt(y, from);
  const z = m.where(isSmall, m.add(y, from), y);
  let shift = m.reciprocal(y);
  for (let k = 1; k < from; k++) shift = m.add(shift, m.reciprocal(m.add(y, k)));
  const inverse = m.reciprocal(z);
  const square = m.square(inverse);
  const series = m.mul(polynomial(m, square, DIGAMMA_SERIES.slice(0, terms)), square);
  const large = m.sub(m.sub(m.log(z), m.mul(inverse, 0.5)), series);
  const value = m.sub(large, m.where(isSmall, shift, 0));
  const rest = offInteger(m, x);
  const reflected = m.sub(value, m.div(Math.PI, m.tan(m.mul(rest, Math.PI))));
  // At negative integers the tangent is 0 and the pole has no sign.
  const isPole = m.and(isReflected, m.or(m.eq(rest, 0), m.isinf(x)));
  return m.where(isPole, NaN, m.where(isReflected, reflected, value));
}

/** The first derivative of digamma. */
function trigamma(m: ExprMath, x: Expr): Expr {
  const { from, terms } = asymptotic(x);
  const isReflected = m.lt(x, 0.5);
  const y = m.where(isReflected, m.sub(1, x), x);
  let shift = m.reciprocal(m.square(y));
  for (let k = 1; k < from; k++) shift = m.add(shift, m.reciprocal(m.square(m.add(y, k))));
  const inverse = m.reciprocal(m.add(y, from));
  const square = m.square(inverse);
  const series = polynomial(
    m,
    square,
    DIGAMMA_SERIES.slice(0, terms).map((c, k) => c * (2 * k + 2)),
  );
  const large = m.add(m.add(inverse, m.mul(square, 0.5)), m.mul(m.mul(series, square), inverse));
  const value = m.add(large, shift);
  // πx is rounded before the sine, as PyTorch does.
  const cosecant = m.div(Math.PI, m.sin(m.mul(x, Math.PI)));
  return m.where(isReflected, m.sub(m.square(cosecant), value), value);
}

const polygamma: LoweringOf<'aten::polygamma'> = (l, [n, self], call) => {
  const order = n === 0 ? digamma : n === 1 ? trigamma : null;
  if (order === null) return null;
  return elementwise(l, [self], call.dtype, (x) => order(new ExprMath(l.ir), x), call.op);
};

// prettier-ignore
const ERFINV_CENTRE = [1.50140941, 0.246640727, -4.17768164e-3, -1.25372503e-3, 2.1858087e-4, -4.39150654e-6, -3.5233877e-6, 3.43273939e-7, 2.81022636e-8];
// prettier-ignore
const ERFINV_TAIL = [2.83297682, 1.00167406, 9.43887047e-3, -7.6224613e-3, 5.73950773e-3, -3.67342844e-3, 1.34934322e-3, 1.00950558e-4, -2.00214257e-4];

function erfinv(m: ExprMath, x: Expr): Expr {
  const w = m.neg(m.log(m.mul(m.sub(1, x), m.add(x, 1))));
  const centre = polynomial(m, m.sub(w, 2.5), ERFINV_CENTRE);
  const tail = polynomial(m, m.sub(m.sqrt(m.max(w, 0)), 3), ERFINV_TAIL);
  let y = m.mul(m.where(m.lt(w, 5), centre, tail), x);
  // The estimate is good to float32; each step of Newton's doubles the digits.
  for (let step = 0; isDouble(x) && step < 2; step++) {
    const slope = m.mul(m.exp(m.neg(m.square(y))), 2 / Math.sqrt(Math.PI));
    y = m.sub(y, m.div(m.sub(m.erf(y), x), slope));
  }
  const size = m.abs(x);
  const edge = m.where(m.eq(size, 1), m.mul(x, Infinity), y);
  return m.where(m.gt(size, 1), NaN, edge);
}

/** Chebyshev coefficients of I₀(x)·e⁻ˣ on [0, 8], over x/4 - 1. */
// prettier-ignore
const I0_NEAR: readonly number[] = [0.6767952744094761, -0.3046826723431984, 0.17162090152220877, -0.09490109704804764, 0.049305284239670705, -0.02373741480589947, 0.010546460394594998, -0.004324309995050576, 0.0016394756169413357, -0.0005763755745385824, 0.00018850288509584165, -5.754195010082104e-05, 1.6448448070728896e-05, -4.4167383584587505e-06, 1.1173875391201037e-06, -2.670793853940612e-07, 6.046995022541919e-08, -1.300025009986248e-08, 2.6598237246823866e-09, -5.189795601635263e-10, 9.675809035373237e-11, -1.7268262914415555e-11, 2.95505266312964e-12, -4.85644678311193e-13, 7.676185498604936e-14, -1.1685332877993451e-14, 1.715391285555133e-15, -2.431279846547955e-16];

/** Of I₀(x)·e⁻ˣ·√x beyond 8, over 16/x - 1. */
// prettier-ignore
const I0_FAR: readonly number[] = [0.8044904110141088, 0.0033691164782556943, 6.889758346916825e-05, 2.8913705208347567e-06, 2.0489185894690636e-07, 2.266668990498178e-08, 3.396232025708386e-09, 4.94060238822497e-10, 1.1889147107846437e-11, -3.1499165279632416e-11, -1.3215811840447713e-11, -1.7941785315068062e-12, 7.180124451383666e-13, 3.8527783827421426e-13, 1.54008621752141e-14, -4.150569347287222e-14, -9.554846698828307e-15, 3.8116806693526224e-15, 1.7725601330565263e-15, -3.425485619677219e-16, -2.8276239805165836e-16];

/** Of I₁(x)·e⁻ˣ/x on [0, 8]. */
// prettier-ignore
const I1_NEAR: readonly number[] = [0.25258718644363365, -0.17641651835783406, 0.1026436586898471, -0.05294598120809499, 0.024726449030626516, -0.010564084894626197, 0.004156422944312888, -0.0015135724506312532, 0.0005122859561685758, -0.00016176081582589674, 4.781565107550054e-05, -1.3273163656039436e-05, 3.4702513081376785e-06, -8.568720264695455e-07, 2.0032947535521353e-07, -4.445059128796328e-08, 9.381537386495773e-09, -1.8872497517228294e-09, 3.625590281552117e-10, -6.663489723502027e-11, 1.1736186298890901e-11, -1.9839743977649436e-12, 3.223793365945575e-13, -5.042185504727912e-14, 7.600684294735408e-15, -1.1055969477353862e-15, 1.5536319577362005e-16];

/** Of I₁(x)·e⁻ˣ·√x beyond 8. */
// prettier-ignore
const I1_FAR: readonly number[] = [0.7785762350182801, -0.009761097491361469, -0.00011058893876262371, -3.882564808877691e-06, -2.512236237870209e-07, -2.6314688468895196e-08, -3.835380385964237e-09, -5.589743462196584e-10, -1.8974958123505413e-11, 3.2526035830154884e-11, 1.412580743661378e-11, 2.0356285441470896e-12, -7.198551776245908e-13, -4.0835511110921974e-13, -2.1015418427726643e-14, 4.2724400167119517e-14, 1.0420276984128804e-14, -3.8144030724370075e-15, -1.8803547755107825e-15, 3.3082023109209285e-16, 2.96262899764595e-16];

/** c₀/2 + Σ cₖTₖ(t) by Clenshaw's recurrence, as far as the type shows. */
function chebyshev(m: ExprMath, t: Expr, coefficients: readonly number[]): Expr {
  const smallest = isDouble(t) ? 0 : 1e-9 * Math.abs(coefficients[0]!);
  const kept = coefficients.filter((c) => Math.abs(c) > smallest);
  const twice = m.mul(t, 2);
  let later = m.term(0, t.dtype);
  let sum = m.term(kept[kept.length - 1]!, t.dtype);
  for (let k = kept.length - 2; k >= 1; k--)
    [later, sum] = [sum, m.add(m.sub(m.mul(twice, sum), later), kept[k]!)];
  return m.add(m.sub(m.mul(t, sum), later), kept[0]! / 2);
}

function scaledBessel(m: ExprMath, x: Expr, order: 0 | 1): Expr {
  const size = m.abs(x);
  const near = chebyshev(
    m,
    m.sub(m.mul(m.min(size, 8), 1 / 4), 1),
    order === 0 ? I0_NEAR : I1_NEAR,
  );
  const beyond = m.max(size, 8);
  const far = m.mul(
    chebyshev(m, m.sub(m.div(16, beyond), 1), order === 0 ? I0_FAR : I1_FAR),
    m.rsqrt(beyond),
  );
  return m.where(
    m.le(size, 8),
    order === 0 ? near : m.mul(near, x),
    order === 0 ? far : m.copysign(far, x),
  );
}

/** The function without its factor e^-|x|, in two steps: e^|x| overflows before the product does. */
function bessel(m: ExprMath, x: Expr, order: 0 | 1): Expr {
  const size = m.abs(x);
  const half = m.exp(m.mul(size, 0.5));
  const value = m.mul(m.mul(half, scaledBessel(m, x, order)), half);
  return m.where(m.isinf(x), order === 0 ? size : x, value);
}

/** Lowerings by overload name. */
export const specialLowerings: LoweringTable = lowerings({
  'aten::lgamma': formula(lgamma),
  'aten::digamma': formula(digamma),
  'aten::polygamma': polygamma,
  'aten::erfinv': formula(erfinv),
  'aten::i0': formula((m, x) => bessel(m, x, 0)),
  'aten::special_i0e': formula((m, x) => scaledBessel(m, x, 0)),
  'aten::special_i1': formula((m, x) => bessel(m, x, 1)),
  'aten::special_i1e': formula((m, x) => scaledBessel(m, x, 1)),
});
