/**
 * @file Bessel functions of the first and second kind, orders 0 and 1, and the spherical one of order 0.
 *
 * Quotients of polynomials in x² up to 5, where the factors (x² - zero²) keep the first two zeros exact, and beyond it of
 * Hankel's expansion. Made of other operators, so that they run wherever those do and have derivatives, which PyTorch's
 * have not. What a branch does not choose is evaluated where it is finite: it would be NaN in gradients.
 *
 * @see Cephes, j0, j1
 */
import type { Tensor } from '../../tensor.js';
import { add, mul, neg, sub } from '../pointwise/arithmetic.js';
import { eq, gt, le, lt } from '../pointwise/comparison.js';
import { div } from '../pointwise/division.js';
import { log, reciprocal, sqrt } from '../pointwise/exponential.js';
import { square } from '../pointwise/power.js';
import { rsub } from '../pointwise/rsub.js';
import { cos, sin } from '../pointwise/trigonometric.js';
import { where } from '../pointwise/where.js';
import { horner, quotient } from './horner.js';
import { positive, sizeOf, wide } from './positive.js';

type Polynomials = readonly [above: readonly number[], below: readonly number[]];

/** Of one order. */
interface Tables {
  /** The squares of the first two zeros. */
  readonly zeros: readonly [number, number];
  /** Of the first kind up to 5, without its zeros; scaled to end in 1, as single precision and WebGPU want it. */
  readonly near: Polynomials;
  /** Of the second kind up to 5, without its logarithm. */
  readonly nearSecond: Polynomials;
  /** The factors of the cosine and of the sine, in (5/x)². */
  readonly far: readonly [Polynomials, Polynomials];
  /** What the argument of the cosine is behind x. */
  readonly phase: number;
}

// prettier-ignore
const ZERO: Tables = {
  zeros: [5.783185962946785, 30.471262343662087],
  near: [[-2.8023473391216873e-9, 1.1433849391459322e-6, -0.00014568574630700656, 0.005674693325155617], [5.845003571860072e-19, 2.9199483794769045e-16, 1.0157762935355475e-13, 2.8313761832405958e-11, 6.537960135624374e-9, 1.2349178597287729e-6, 0.0001814980162644302, 0.018594239687751455, 1]],
  nearSecond: [[6.222134769156674e-14, -5.851615588500319e-11, 2.168932949570498e-8, -3.919196881541798e-6, 0.00034952892264754934, -0.013832142134873457, 0.17667194048882373, -0.07380429510868722], [3.990482600470419e-18, 4.155223835128591e-15, 2.498470406939226e-12, 1.0731191179828993e-9, 3.4477868915514203e-7, 8.0998661292952e-5, 0.012656124943241897, 1]],
  far: [[[0.0007969367292973471, 0.08283523921074408, 1.239533716464143, 5.447250030587687, 8.74716500199817, 5.303240382353949, 1], [0.0009244088105588637, 0.08562884743544745, 1.2535274390105895, 5.470977403304171, 8.761908832370695, 5.306052882353947, 1]], [[-0.011366383889846916, -1.2825271867050931, -19.553954425773597, -93.20601521237683, -177.68116798048806, -147.07750515495118, -51.41053267665993, -6.050143506007285], [1, 64.3178256118178, 856.4300259769806, 3882.4018360540163, 7240.467741956525, 5930.727011873169, 2062.0933166032783, 242.0057402402914]]],
  phase: Math.PI / 4,
};
// prettier-ignore
const ONE: Tables = {
  zeros: [14.681970642123893, 49.2184563216946],
  near: [[-1.6907897317819515e-10, 8.496082328378064e-8, -1.3667545857226546e-5, 0.0006919228366408254], [1.8787153227664655e-19, 1.166375004372756e-16, 4.8280589702650265e-14, 1.5690030738224528e-11, 4.1615722859833315e-9, 8.922284381498637e-7, 0.00014736072010294084, 0.016818679202728514, 1]],
  nearSecond: [[3.179708546500756e-10, -1.6295086098824198e-7, 2.8824058262127016e-5, -0.0020458856983017865, 0.0509575769205152, -0.19605709064623897], [2.517175898667531e-19, 1.4959616447934099e-16, 5.929562573477704e-14, 1.849650916647036e-11, 4.72225511467144e-9, 9.772464148224378e-7, 0.00015620529545062138, 0.017296549840749628, 1]],
  far: [[[0.0007621256162081731, 0.07313970569409176, 1.1271960812968493, 5.112079511468076, 8.424045901417724, 5.214515986823615, 1], [0.0005713231280725487, 0.06884559087544954, 1.105142326340617, 5.073863861286015, 8.399855543276042, 5.209828486823619, 1]], [[0.05108625947501766, 4.982138729512334, 75.82382841325453, 366.7796093601508, 710.8563049989261, 597.4896124006136, 211.68875710057213, 25.207020585802372], [1, 74.23732770356752, 1056.4488603826283, 4986.410583376536, 9562.318924047562, 7997.041604473507, 2826.1927851763908, 336.0936078106983]]],
  phase: (3 * Math.PI) / 4,
};

/** Where the branches meet. */
const END = 5;
/** Of sin(x) / x in x². */
const SERIES = [1 / 6227020800, -1 / 39916800, 1 / 362880, -1 / 5040, 1 / 120, -1 / 6, 1];

/** x² without the zeros: (x² - a)(x² - b). */
function zerosIn(z: Tensor, [a, b]: Tables['zeros']): Tensor {
  return mul(sub(z, a), sub(z, b));
}

/** √(2/πx) (P cos φ - Q sin φ) for x > 5, where φ is x without the phase; of the second kind √(2/πx) (P sin φ + Q cos φ). */
function far(x: Tensor, { far: [p, q], phase }: Tables, isSecond: boolean): Tensor {
  const inverse = mul(reciprocal(x), END);
  const z = square(inverse);
  const [even, odd] = [quotient(z, p), mul(inverse, quotient(z, q))];
  const angle = sub(x, phase);
  const sum = isSecond
    ? add(mul(even, sin(angle)), mul(odd, cos(angle)))
    : sub(mul(even, cos(angle)), mul(odd, sin(angle)));
  return div(mul(sum, Math.sqrt(2 / Math.PI)), sqrt(x));
}

/** Of the first kind for -5 ≤ x ≤ 5, given x². */
function near(z: Tensor, { near: polynomials, zeros }: Tables): Tensor {
  return mul(zerosIn(z, zeros), quotient(z, polynomials));
}

/** J₀(x). @throws dtype-unsupported for halves @see torch.special.bessel_j0 */
export function besselJ0(self: Tensor): Tensor {
  const x = wide('bessel_j0', self);
  const size = sizeOf(x);
  const isNear = le(size, END);
  const z = square(where(isNear, x, 1));
  const inside = where(lt(z, 1e-10), rsub(mul(z, 0.25), 1), near(z, ZERO));
  return where(isNear, inside, far(where(isNear, 2 * END, size), ZERO, false));
}

/** J₁(x). @throws dtype-unsupported for halves @see torch.special.bessel_j1 */
export function besselJ1(self: Tensor): Tensor {
  const x = wide('bessel_j1', self);
  const size = sizeOf(x);
  const isNear = le(size, END);
  const close = where(isNear, x, 1);
  const inside = mul(close, near(square(close), ONE));
  const outside = far(where(isNear, 2 * END, size), ONE, false);
  return where(isNear, inside, where(lt(x, 0), neg(outside), outside));
}

/** Of the second kind: what `inside` gives for 0 < x ≤ 5, with log x; -∞ at 0 and NaN below. */
function secondKind(
  x: Tensor,
  tables: Tables,
  inside: (x: Tensor, z: Tensor, log: Tensor) => Tensor,
): Tensor {
  const isNear = le(x, END);
  const close = positive(where(isNear, x, 1));
  const found = inside(close, square(close), mul(log(close), 2 / Math.PI));
  // -∞ at 0 with its derivative, NaN below.
  const below = log(where(gt(x, 0), 1, x));
  const outside = far(where(isNear, 2 * END, x), tables, true);
  return where(gt(x, 0), where(isNear, found, outside), below);
}

/** Y₀(x); -∞ at 0, NaN below. @throws dtype-unsupported for halves @see torch.special.bessel_y0 */
export function besselY0(self: Tensor): Tensor {
  return secondKind(wide('bessel_y0', self), ZERO, (_x, z, log) =>
    add(quotient(z, ZERO.nearSecond), mul(log, near(z, ZERO))),
  );
}

/** Y₁(x); -∞ at 0, NaN below. @throws dtype-unsupported for halves @see torch.special.bessel_y1 */
export function besselY1(self: Tensor): Tensor {
  return secondKind(wide('bessel_y1', self), ONE, (x, z, log) => {
    const regular = mul(x, add(quotient(z, ONE.nearSecond), mul(log, near(z, ONE))));
    return sub(regular, mul(reciprocal(x), 2 / Math.PI));
  });
}

/** sin(x) / x, its series near 0. @throws dtype-unsupported for halves @see torch.special.spherical_bessel_j0 */
export function sphericalBesselJ0(self: Tensor): Tensor {
  const x = wide('spherical_bessel_j0', self);
  const size = sizeOf(x);
  const isNear = lt(size, 0.5);
  const isFar = isNear.logicalOr(eq(size, Infinity));
  const close = horner(square(where(isNear, x, 0)), SERIES);
  const value = where(isFar, 1, x);
  return where(isNear, close, where(isFar, 0, div(sin(value), value)));
}
