/**
 * @file Orthogonal polynomials by their three-term recurrences: pₖ₊₁ = (aₖx + bₖ) pₖ - cₖ pₖ₋₁ with p₀ = 1, p₋₁ = 0.
 *
 * Made of products and sums, so that they run wherever those do and have derivatives, which PyTorch's have not.
 */
import { TesseraError } from '@tessera/shared';
import { isFloatingPoint } from '../../dtype.js';
import { defaultDType } from '../../default-dtype.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { toDtype } from '../arrange/copy.js';
import { fullLike } from '../factory/like.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';
import { eq, lt } from '../pointwise/comparison.js';
import { abs, trunc } from '../pointwise/rounding.js';
import { where } from '../pointwise/where.js';

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

/** The polynomials of one recurrence, of `change(x)`. */
function family(name: string, step: Step, change: (x: Tensor) => Tensor = (x) => x): Polynomial {
  return (input, n) => {
    if (!isTensor(input) || (!isTensor(n) && typeof n !== 'number'))
      throw new TesseraError(
        'schema-arguments',
        `special.${name}(x, n): x is a tensor, n a tensor or a number.`,
        { hints: [`Write ${name}(x, 3).`] },
      );
    const x = change(isFloatingPoint(input.dtype) ? input : toDtype(input, defaultDType()));
    const order = wholeDegree(n);
    // Of a tensor the largest degree is read.
    const most = isTensor(order) ? (order.numel === 0 ? -1 : Number(order.max().item())) : order;
    const one = fullLike(x, 1);
    const seen = (value: Tensor, k: number, before: Tensor): Tensor =>
      isTensor(order) ? where(eq(order, k), value, before) : value;
    let [p, q]: [Tensor, Tensor | null] = [one, null];
    let found = fullLike(x, 0);
    if (isTensor(order)) found = where(lt(order, 0), found, one);
    else if (order >= 0) found = one;
    for (let k = 0; k < most; k++) {
      [p, q] = [next(x, step(k), p, q), p];
      found = seen(p, k + 1, found);
    }
    return found;
  };
}

const twice = (x: Tensor): Tensor => sub(mul(x, 2), 1);
/** The steps of Chebyshev's four kinds, which differ in the first. */
const chebyshev =
  (a: number, b: number): Step =>
  (k) =>
    k === 0 ? [a, b, 0] : [2, 0, 1];
const [first, second, third, fourth] = [
  chebyshev(1, 0),
  chebyshev(2, 0),
  chebyshev(2, -1),
  chebyshev(2, 1),
];

/** Of the first kind: Tₙ(cos θ) = cos nθ. @see torch.special.chebyshev_polynomial_t */
export const chebyshevPolynomialT: Polynomial = /* @__PURE__ */ family(
  'chebyshevPolynomialT',
  first,
);
/** Of the second kind: Uₙ(cos θ) = sin (n + 1)θ / sin θ. @see torch.special.chebyshev_polynomial_u */
export const chebyshevPolynomialU: Polynomial = /* @__PURE__ */ family(
  'chebyshevPolynomialU',
  second,
);
/** Of the third kind. @see torch.special.chebyshev_polynomial_v */
export const chebyshevPolynomialV: Polynomial = /* @__PURE__ */ family(
  'chebyshevPolynomialV',
  third,
);
/** Of the fourth kind. @see torch.special.chebyshev_polynomial_w */
export const chebyshevPolynomialW: Polynomial = /* @__PURE__ */ family(
  'chebyshevPolynomialW',
  fourth,
);
/** Tₙ(2x - 1). @see torch.special.shifted_chebyshev_polynomial_t */
export const shiftedChebyshevPolynomialT: Polynomial = /* @__PURE__ */ family(
  'shiftedChebyshevPolynomialT',
  first,
  twice,
);
/** Uₙ(2x - 1). @see torch.special.shifted_chebyshev_polynomial_u */
export const shiftedChebyshevPolynomialU: Polynomial = /* @__PURE__ */ family(
  'shiftedChebyshevPolynomialU',
  second,
  twice,
);
/** Vₙ(2x - 1). @see torch.special.shifted_chebyshev_polynomial_v */
export const shiftedChebyshevPolynomialV: Polynomial = /* @__PURE__ */ family(
  'shiftedChebyshevPolynomialV',
  third,
  twice,
);
/** Wₙ(2x - 1). @see torch.special.shifted_chebyshev_polynomial_w */
export const shiftedChebyshevPolynomialW: Polynomial = /* @__PURE__ */ family(
  'shiftedChebyshevPolynomialW',
  fourth,
  twice,
);
/** Physicists': orthogonal under exp(-x²). @see torch.special.hermite_polynomial_h */
export const hermitePolynomialH: Polynomial = /* @__PURE__ */ family('hermitePolynomialH', (k) => [
  2,
  0,
  2 * k,
]);
/** Probabilists': orthogonal under exp(-x²/2). @see torch.special.hermite_polynomial_he */
export const hermitePolynomialHe: Polynomial = /* @__PURE__ */ family(
  'hermitePolynomialHe',
  (k) => [1, 0, k],
);
/** Orthogonal under exp(-x) for x > 0. @see torch.special.laguerre_polynomial_l */
export const laguerrePolynomialL: Polynomial = /* @__PURE__ */ family(
  'laguerrePolynomialL',
  (k) => [-1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1)],
);
/** Orthogonal on [-1, 1]. @see torch.special.legendre_polynomial_p */
export const legendrePolynomialP: Polynomial = /* @__PURE__ */ family(
  'legendrePolynomialP',
  (k) => [(2 * k + 1) / (k + 1), 0, k / (k + 1)],
);
