/**
 * @file Airy's function: its power series near 0, quotients of polynomials beyond it. Made of other operators, so that it
 * runs wherever those do and has derivatives, which PyTorch's has not.
 *
 * @see Cephes, airy
 */
import type { Tensor } from '../../tensor.js';
import { add, mul, neg, sub } from '../pointwise/arithmetic.js';
import { ge, gt, isinf, lt } from '../pointwise/comparison.js';
import { div } from '../pointwise/division.js';
import { exp, reciprocal, sqrt } from '../pointwise/exponential.js';
import { logicalOr } from '../pointwise/logical.js';
import { square } from '../pointwise/power.js';
import { cos, sin } from '../pointwise/trigonometric.js';
import { where } from '../pointwise/where.js';
import { horner, quotient } from './horner.js';
import { wide } from './positive.js';

// prettier-ignore
const DECAYING = [[0.346538101525629, 12.007595273964581, 76.27960536152345, 168.08922493463058, 159.75639135016442, 70.53609068404442, 14.026469116338967, 1], [0.5675945326387702, 14.75625625848472, 84.51389701414746, 177.31808814540045, 164.2346928715297, 71.47784008255756, 14.095913560783403, 1]] as const;
// prettier-ignore
const SINE = [[-0.1316963234183318, -0.6264565444319123, -0.6931580360369335, -0.2797799815451191, -0.04919001326095003, -0.004062659235948854, -0.0001592764962392621, -2.776491081552329e-6, -1.6778769848911465e-8], [1, 13.356042070655324, 32.682503279522464, 26.736704094149957, 9.187074029072596, 1.4752914677166642, 0.11568717379518804, 0.004402916416152112, 7.547203482874142e-5, 4.5185009297058035e-7]] as const;
// prettier-ignore
const COSINE = [[0.01973399320916857, 0.39110302961568827, 1.0657989759959559, 0.9391692298166502, 0.35146565610554764, 0.06338889196289255, 0.005858041130483885, 0.000282851600836737, 6.98793669997261e-6, 8.117892395543892e-8, 3.415517847659236e-10], [1, 9.30892908077442, 19.835292871831214, 15.564662893286462, 5.476860694229755, 0.9542936116189619, 0.08645808263523921, 0.004126565238242226, 0.00010125908511650914, 1.1716673321441352e-6, 4.9183457006293e-9]] as const;

/** Where the series ends on both sides. */
const END = 2.09;
/** From here on the value is 0. */
const MOST = 103.892;
/** Terms of the series. */
const TERMS = 15;

/** 1 and the products of 1/((3k + a)(3k + b)), for k = 1, 2, …, the last first: the coefficients of a series in x³. */
function series(a: number, b: number): number[] {
  const found = [1];
  for (let k = 1; k < TERMS; k++) found.unshift(found[0]! / ((3 * k + a) * (3 * k + b)));
  return found;
}

/** Ai(x). @throws dtype-unsupported for halves @see torch.special.airy_ai */
export function airyAi(self: Tensor): Tensor {
  const x = wide('airy_ai', self);
  const isLow = lt(x, -END);
  const isHigh = ge(x, END);
  const scale = 1 / Math.sqrt(Math.PI);

  const near = where(logicalOr(isLow, isHigh), 0, x);
  const cube = mul(square(near), near);
  const middle = sub(
    mul(horner(cube, series(-1, 0)), 0.35502805388781724),
    mul(mul(near, horner(cube, series(0, 1))), 0.2588194037928068),
  );

  // 2/3 · x^1.5 on either side.
  const left = where(isLow, neg(x), 2 * END);
  const t = mul(mul(left, sqrt(left)), 2 / 3);
  const z = reciprocal(t);
  const squared = square(z);
  const angle = add(t, Math.PI / 4);
  const wave = sub(
    mul(sin(angle), add(mul(squared, quotient(squared, SINE)), 1)),
    mul(cos(angle), mul(z, quotient(squared, COSINE))),
  );
  const low = div(mul(wave, scale), sqrt(sqrt(left)));

  const isTiny = gt(x, MOST);
  const right = where(logicalOr(isTiny, lt(x, END)), 2 * END, x);
  const decay = mul(mul(right, sqrt(right)), 2 / 3);
  const size = div(mul(quotient(reciprocal(decay), DECAYING), scale / 2), sqrt(sqrt(right)));
  const high = where(isTiny, 0, mul(size, exp(neg(decay))));

  const value = where(isLow, low, where(isHigh, high, middle));
  return where(isinf(x), NaN, value);
}
