/**
 * @file Orthogonal polynomials by their three-term recurrences: pₖ₊₁ = (aₖx + bₖ) pₖ - cₖ pₖ₋₁ with p₀ = 1, p₋₁ = 0.
 *
 * Made of products and sums, so that they run wherever those do and have derivatives, which PyTorch's have not. Of high
 * degrees Chebyshev's have closed forms (chebyshev.ts), Hermite's are NaN, as in PyTorch, and the others are refused.
 */
import { TesseraError } from '@tessera/shared';
import { type DType, isFloatingPoint } from '../../dtype.js';
import { defaultDType } from '../../default-dtype.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { toDtype } from '../arrange/copy.js';
import { fullLike } from '../factory/like.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';
import { eq, gt, lt } from '../pointwise/comparison.js';
import { abs, trunc } from '../pointwise/rounding.js';
import { where } from '../pointwise/where.js';
import { CHEBYSHEV_STEPS, type ChebyshevKind, chebyshevOfHighDegree } from './chebyshev.js';

/** aₖ, bₖ and cₖ. */
type Step = (k: number) => readonly [a: number, b: number, c: number];

/** A family of polynomials: the value of the one of degree `n`, a number or a tensor that broadcasts; 0 for negative ones. */
export type Polynomial = (x: Tensor, n: Tensor | number) => Tensor;

/** (a · x + b) · p - c · q */
function next(x: Tensor, [a, b, c]: ReturnType<Step>, p: Tensor, q: Tensor | null): Tensor {
  const scaled = a === 1 ? x : mul(x, a);
  const product = mul(b === 0 ? scaled : add(scaled, b), p);
  return q === null || c === 0 ? product : sub(product, c === 1 ? q : mul(q, c));
}

/** What PyTorch's conversion to int64 makes negative: NaN, infinities and numbers beyond. */
const LIMIT = 2 ** 63;

/** Degrees without a fraction; of bools too, which `trunc` refuses. */
function wholeDegree(n: Tensor | number): Tensor | number {
  if (!isTensor(n)) return Math.abs(n) < LIMIT ? Math.trunc(n) : -1;
  return isFloatingPoint(n.dtype) ? trunc(where(lt(abs(n), LIMIT), n, -1)) : toDtype(n, 'int64');
}

/** A family: its recurrence, and what it is of degrees that would take too many steps of it. */
interface Family {
  readonly name: string;
  readonly step: Step;
  /** Degrees up to here are computed by the recurrence. */
  readonly steps: (dtype: DType) => number;
  /** Those above, of an argument and a degree. @throws invalid-argument if it has no such form */
  readonly above: (x: Tensor, n: Tensor | number) => Tensor;
  /** What x is changed to first. */
  readonly change?: (x: Tensor) => Tensor;
}

/** The polynomials of a family. */
function polynomials({ name, step, steps, above, change }: Family): Polynomial {
  return (input, n) => {
    if (!isTensor(input) || (!isTensor(n) && typeof n !== 'number'))
      throw new TesseraError(
        'schema-arguments',
        `special.${name}(x, n): x is a tensor, n a tensor or a number.`,
        { hints: [`Write ${name}(x, 3).`] },
      );
    const given = isFloatingPoint(input.dtype) ? input : toDtype(input, defaultDType());
    const x = change === undefined ? given : change(given);
    const order = wholeDegree(n);
    // Of a tensor the largest degree is read.
    const most = isTensor(order) ? (order.numel === 0 ? -1 : Number(order.max().item())) : order;
    const last = steps(x.dtype);
    if (!isTensor(order) && order > last) return above(x, order);
    const isAbove = isTensor(order) && most > last ? gt(order, last) : null;
    const high = isAbove === null ? null : above(where(isAbove, x, 0), order);
    const one = fullLike(x, 1);
    const seen = (value: Tensor, k: number, before: Tensor): Tensor =>
      isTensor(order) ? where(eq(order, k), value, before) : value;
    let [p, q]: [Tensor, Tensor | null] = [one, null];
    let found = fullLike(x, 0);
    if (isTensor(order)) found = where(lt(order, 0), found, one);
    else if (order >= 0) found = one;
    for (let k = 0; k < Math.min(most, last); k++) {
      [p, q] = [next(x, step(k), p, q), p];
      found = seen(p, k + 1, found);
    }
    return isAbove === null ? found : where(isAbove, high!, found);
  };
}

const twice = (x: Tensor): Tensor => sub(mul(x, 2), 1);

/** Chebyshev's polynomials of a kind, which differ in the first step. */
function chebyshev(
  name: string,
  kind: ChebyshevKind,
  [a, b]: readonly [a: number, b: number],
  change?: (x: Tensor) => Tensor,
): Polynomial {
  const step: Step = (k) => (k === 0 ? [a, b, 0] : [2, 0, 1]);
  const above: Family['above'] = (x, n) => chebyshevOfHighDegree(kind, x, n);
  return polynomials({ name, step, steps: () => CHEBYSHEV_STEPS, above, change });
}
const [first, second, third, fourth] = [
  [1, 0],
  [2, 0],
  [2, -1],
  [2, 1],
] as const;

/** Hermite's polynomials; beyond PyTorch's limits, where they overflow, NaN. */
function hermite(name: string, step: Step): Polynomial {
  const steps: Family['steps'] = (dtype) =>
    dtype === 'float64' ? 512 : dtype === 'float32' ? 128 : 1024;
  return polynomials({ name, step, steps, above: (x) => mul(x, NaN) });
}

/** Polynomials of which there is nothing but the recurrence: each degree is a step of a few operators. */
function stepwise(name: string, step: Step): Polynomial {
  const above: Family['above'] = (_x, n) => {
    throw new TesseraError(
      'invalid-argument',
      `special.${name}: degrees above ${MOST_STEPS} take too many steps${isTensor(n) ? '' : `, got ${n}`}.`,
      { hints: ['The recurrence takes one step for each degree; PyTorch takes as many.'] },
    );
  };
  return polynomials({ name, step, steps: () => MOST_STEPS, above });
}
/** Steps that a call may take: a second or so. */
const MOST_STEPS = 2 ** 14;

/** Of the first kind: Tₙ(cos θ) = cos nθ. @see torch.special.chebyshev_polynomial_t */
export const chebyshevPolynomialT: Polynomial = /* @__PURE__ */ chebyshev(
  'chebyshevPolynomialT',
  'T',
  first,
);
/** Of the second kind: Uₙ(cos θ) = sin (n + 1)θ / sin θ. @see torch.special.chebyshev_polynomial_u */
export const chebyshevPolynomialU: Polynomial = /* @__PURE__ */ chebyshev(
  'chebyshevPolynomialU',
  'U',
  second,
);
/** Of the third kind. @see torch.special.chebyshev_polynomial_v */
export const chebyshevPolynomialV: Polynomial = /* @__PURE__ */ chebyshev(
  'chebyshevPolynomialV',
  'V',
  third,
);
/** Of the fourth kind. @see torch.special.chebyshev_polynomial_w */
export const chebyshevPolynomialW: Polynomial = /* @__PURE__ */ chebyshev(
  'chebyshevPolynomialW',
  'W',
  fourth,
);
/** Tₙ(2x - 1). @see torch.special.shifted_chebyshev_polynomial_t */
export const shiftedChebyshevPolynomialT: Polynomial = /* @__PURE__ */ chebyshev(
  'shiftedChebyshevPolynomialT',
  'T',
  first,
  twice,
);
/** Uₙ(2x - 1). @see torch.special.shifted_chebyshev_polynomial_u */
export const shiftedChebyshevPolynomialU: Polynomial = /* @__PURE__ */ chebyshev(
  'shiftedChebyshevPolynomialU',
  'U',
  second,
  twice,
);
/** Vₙ(2x - 1). @see torch.special.shifted_chebyshev_polynomial_v */
export const shiftedChebyshevPolynomialV: Polynomial = /* @__PURE__ */ chebyshev(
  'shiftedChebyshevPolynomialV',
  'V',
  third,
  twice,
);
/** Wₙ(2x - 1). @see torch.special.shifted_chebyshev_polynomial_w */
export const shiftedChebyshevPolynomialW: Polynomial = /* @__PURE__ */ chebyshev(
  'shiftedChebyshevPolynomialW',
  'W',
  fourth,
  twice,
);
/** Physicists': orthogonal under exp(-x²). @see torch.special.hermite_polynomial_h */
export const hermitePolynomialH: Polynomial = /* @__PURE__ */ hermite('hermitePolynomialH', (k) => [
  2,
  0,
  2 * k,
]);
/** Probabilists': orthogonal under exp(-x²/2). @see torch.special.hermite_polynomial_he */
export const hermitePolynomialHe: Polynomial = /* @__PURE__ */ hermite(
  'hermitePolynomialHe',
  (k) => [1, 0, k],
);
/** Orthogonal under exp(-x) for x > 0. @see torch.special.laguerre_polynomial_l */
export const laguerrePolynomialL: Polynomial = /* @__PURE__ */ stepwise(
  'laguerrePolynomialL',
  (k) => [-1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1)],
);
/** Orthogonal on [-1, 1]. @see torch.special.legendre_polynomial_p */
export const legendrePolynomialP: Polynomial = /* @__PURE__ */ stepwise(
  'legendrePolynomialP',
  (k) => [(2 * k + 1) / (k + 1), 0, k / (k + 1)],
);
