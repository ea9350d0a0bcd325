/**
 * @file Hurwitz' zeta function, the multivariate gamma function and x log(1 + y), made of other operators.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { scalarTensor } from '../factory/factory.js';
import { arange } from '../factory/range.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';
import { eq, ge, isnan, le, lt, ne } from '../pointwise/comparison.js';
import { div } from '../pointwise/division.js';
import { log1p, reciprocal } from '../pointwise/exponential.js';
import { clampMax } from '../pointwise/extremum.js';
import { logicalAnd, logicalOr } from '../pointwise/logical.js';
import { pow } from '../pointwise/power.js';
import { floor } from '../pointwise/rounding.js';
import { rsub } from '../pointwise/rsub.js';
import { lgamma } from '../pointwise/special.js';
import { where } from '../pointwise/where.js';
import { sum } from '../reduction/reduction.js';
import { unsqueeze } from '../view/dims.js';
import { composed } from './composed.js';
import { floating } from './floating.js';

/** Two operands, one of which may be a number, as floats. */
function pair(x: Tensor | number, y: Tensor | number): readonly [x: Tensor, y: Tensor] {
  const like = isTensor(x) ? x : isTensor(y) ? y : null;
  const made = (value: Tensor | number): Tensor => {
    if (isTensor(value)) return floating(value);
    if (like === null)
      throw new TesseraError('schema-arguments', 'special: one of the two must be a tensor.', {
        hints: [`Write tensor(${String(x)}).`],
      });
    return scalarTensor(value, { dtype: floating(like).dtype, device: like.device });
  };
  return [made(x), made(y)];
}

const xlog1pyOp: OpOverload<Tensor> = defineOp(
  'aten::special_xlog1py(Tensor self, Tensor other) -> Tensor',
  {
    ...composed(['self', 'other'], (a, b) => {
      // What a factor of 0 would make NaN.
      const isBare = logicalAnd(eq(a, 0), logicalOr(le(b, -1), eq(b, Infinity)));
      return mul(a, log1p(where(isBare, 0, b)));
    }),
    savedFor: { self: ['self', 'other'], other: ['self', 'other'] },
    vjp: ({ self, other }, { grad }) => ({
      self: () => {
        const slope = xlog1py(grad, other);
        return where(logicalAnd(eq(self, 0), le(other, -1)), 0, slope);
      },
      other: () => div(mul(grad, self), add(other, 1)),
    }),
  },
);

/** x · log(1 + y), 0 where x is 0. @throws schema-arguments @see torch.special.xlog1py */
export function xlog1py(x: Tensor | number, y: Tensor | number): Tensor {
  return callOp(xlog1pyOp, pair(x, y));
}

/** B₂ₖ/(2k)! for k = 1, 2, … */
const FACTORS: readonly number[] = [
  1 / 12,
  -1 / 720,
  1 / 30240,
  -1 / 1209600,
  1 / 47900160,
  -691 / 1307674368000,
  1 / 74724249600,
  -3617 / 10670622842880000,
];
/** Terms that are added one by one before the rest is estimated. */
const TERMS = 10;

/** From this exponent on the powers of what is above TERMS are 0: more would only overflow. */
const MOST = 1000;
/** Exponents are finite: 1 to the power of infinity is NaN. */
const LARGEST = 1e38;

/** Σ (q + k)⁻ˢ over k = 0, 1, …, for s > 1 and q > 0, by Euler and Maclaurin. */
function fromPositive(exponent: Tensor, q: Tensor): Tensor {
  const downwards = mul(clampMax(exponent, LARGEST), -1);
  // Along a dimension of their own: the code for a power is long.
  const { dtype, device } = q;
  const steps = arange(TERMS, { dtype, device }).view([TERMS, ...q.sizes.map(() => 1)]);
  const total = sum(pow(add(q, steps), downwards), 0);
  const s = clampMax(exponent, MOST);
  const z = add(q, TERMS);
  const power = pow(z, mul(s, -1));
  const inverse = reciprocal(z);
  let rest = add(div(mul(power, z), sub(s, 1)), mul(power, 0.5));
  let factor = mul(mul(power, s), inverse);
  FACTORS.forEach((c, k) => {
    if (k > 0)
      factor = mul(mul(factor, mul(add(s, 2 * k - 1), add(s, 2 * k))), mul(inverse, inverse));
    rest = add(rest, mul(factor, c));
  });
  return add(total, rest);
}

/**
 * Hurwitz' Σ (q + k)⁻ˣ over k = 0, 1, …, for x > 1. Of huge and infinite x it is the limit, ∞, 1 or 0; PyTorch's series
 * has NaN for the last.
 *
 * @throws schema-arguments
 * @see torch.special.zeta
 */
export function zeta(x: Tensor | number, q: Tensor | number): Tensor {
  const [given, start] = pair(x, q);
  const isPole = logicalAnd(le(start, 0), eq(start, floor(start)));
  const isComplex = logicalAnd(lt(start, 0), ne(given, floor(given)));
  const isOutside = logicalOr(logicalOr(le(given, 1), isnan(given)), logicalOr(isPole, isComplex));
  const s = where(isOutside, 2, given);
  const first = where(isOutside, 1, start);
  // Terms of negative numbers are those of positive ones, with the sign of (-1)ˢ: from 1 - fraction up to -q.
  const isNegative = lt(first, 0);
  const fraction = sub(first, floor(first));
  const upwards = fromPositive(s, where(isNegative, fraction, first));
  const mirrored = sub(
    fromPositive(s, where(isNegative, rsub(fraction, 1), 1)),
    fromPositive(s, where(isNegative, rsub(first, 1), 1)),
  );
  const half = mul(s, 0.5);
  const value = add(upwards, where(eq(half, floor(half)), mirrored, mul(mirrored, -1)));
  const limit = where(logicalOr(eq(given, 1), logicalAnd(isPole, ge(given, 1))), Infinity, NaN);
  return where(isOutside, limit, value);
}

/**
 * log Γₚ(x), the multivariate gamma function's logarithm, of any shape; p is a whole number from 1 on.
 *
 * @throws schema-arguments for a p that is not whole; invalid-argument for p < 1; dtype-unsupported for bools
 * @see torch.special.multigammaln
 */
export function multigammaln(self: Tensor, p: number): Tensor {
  const hints = ['p is the number of dimensions, a whole number.'];
  if (!Number.isInteger(p))
    throw new TesseraError(
      'schema-arguments',
      `special_multigammaln(): argument 'p' (position 2) must be int, not ${typeof p === 'number' ? 'float' : typeof p}`,
      { hints },
    );
  if (self.dtype === 'bool')
    throw new TesseraError('dtype-unsupported', 'The input tensor may not be a boolean tensor.', {
      hints: ["Convert it: x.to('float32')."],
    });
  if (p < 1)
    throw new TesseraError('invalid-argument', 'p has to be greater than or equal to 1', { hints });
  const x = floating(self);
  const shifts = arange(p, { dtype: x.dtype, device: x.device }).mul(-0.5);
  const total = sum(lgamma(add(unsqueeze(x, -1), shifts)), -1);
  return add(total, (p * (p - 1) * Math.log(Math.PI)) / 4);
}
