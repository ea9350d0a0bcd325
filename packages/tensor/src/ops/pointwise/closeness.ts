/**
 * @file Closeness: isclose, allclose, equal.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { DTYPES } from '../../dtype.js';
import { defineOp } from '../../op/op-overload.js';
import { readTruth } from '../../read-values.js';
import { sameNumbers } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { defaultDType } from '../../default-dtype.js';
import { eq, isfinite, isnan, le } from './comparison.js';
import { toDtype } from '../arrange/copy.js';
import { logicalAnd, logicalOr } from './logical.js';
import { add, mul, sub } from './arithmetic.js';
import { abs } from './rounding.js';
import { all } from '../reduction/logic.js';
import { checkTensors } from '../../check-tensors.js';

const iscloseOp = defineOp(
  'aten::isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor',
  {
    decompose: ({ self, other, rtol, atol, equal_nan }) =>
      closeness(self, other, rtol, atol, equal_nan),
  },
);

function closeness(
  self: Tensor,
  other: Tensor,
  rtol: number,
  atol: number,
  equalNan: boolean,
): Tensor {
  if (self.dtype !== other.dtype) {
    throw new TesseraError('dtype-mismatch', `${self.dtype} did not match ${other.dtype}`, {
      hints: ['Convert one of them: x.to(y.dtype).'],
    });
  }
  if (rtol < 0 || atol < 0) {
    throw new TesseraError(
      'invalid-argument',
      `${rtol < 0 ? 'rtol' : 'atol'} must be greater than or equal to zero, but got ${rtol < 0 ? rtol : atol}`,
      { hints: ['Tolerances are magnitudes.'] },
    );
  }
  const isFloating = DTYPES[self.dtype].category === 'floating';
  let close = eq(self, other);
  if (equalNan && isFloating) close = logicalOr(close, logicalAnd(isnan(self), isnan(other)));
  if (rtol === 0 && atol === 0) return close;
  const [a, b] = isFloating
    ? [self, other]
    : [toDtype(self, defaultDType()), toDtype(other, defaultDType())];
  const allowed = add(abs(mul(b, rtol)), atol);
  const actual = abs(sub(a, b));
  return logicalOr(close, logicalAnd(isfinite(actual), le(actual, allowed)));
}

/** Options of `isclose`. */
export interface IscloseOptions {
  /** Relative tolerance; default 1e-5. */
  readonly rtol?: number;
  /** Absolute tolerance; default 1e-8. */
  readonly atol?: number;
  /** Whether NaN is close to NaN. */
  readonly equalNan?: boolean;
}
const ISCLOSE: OptionNames<IscloseOptions> = { rtol: true, atol: true, equalNan: true };

/** Where |self - other| ≤ atol + rtol · |other|. @throws dtype-mismatch, invalid-argument, shape-mismatch */
export function isclose(self: Tensor, other: Tensor, options: IscloseOptions = {}): Tensor {
  checkOptionNames('isclose', options, ISCLOSE);
  const { rtol = 1e-5, atol = 1e-8, equalNan = false } = options;
  return callOp(iscloseOp, [self, other, rtol, atol, equalNan]);
}

/** Whether all of self is close to other, as `isclose` says; awaitable on devices other than `cpu`. A graph break in compiled functions. @throws dtype-mismatch, invalid-argument, shape-mismatch */
export function allclose(self: Tensor, other: Tensor, options: IscloseOptions = {}): boolean {
  checkOptionNames('allclose', options, ISCLOSE);
  return readTruth(all(isclose(self, other, options)));
}

/** Whether both have one shape and the same elements; awaitable on devices other than `cpu`, unless the shapes differ. A graph break in compiled functions. @throws invalid-argument */
export function equal(self: Tensor, other: Tensor): boolean {
  checkTensors('equal', { self, other });
  return sameNumbers(self.sizes, other.sizes) && readTruth(all(eq(self, other)));
}
