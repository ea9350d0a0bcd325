/**
 * @file Piecewise-linear activations: relu and its kin.
 */
import { type OptionNames, type ScalarLike, checkOptionNames, TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { roundTo } from '../../kernels/elements.js';
import { larger, smaller } from '../../kernels/integer-arithmetic.js';
import { fixedScalar, pointwiseWith, scalarValue, unary } from '../../kernels/pointwise-kernel.js';
import { NUMBERS, restrictedTo } from '../../kernels/restrict-dtypes.js';
import { defineInplace } from '../../op/inplace.js';
import { type Unary, unaryFunction } from '../../op/op-functions.js';
import { defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import {
  hardsigmoidBackward,
  hardswishBackward,
  hardtanhBackward,
  leakyReluBackward,
  limitIn,
  thresholdBackward,
} from './backward.js';

const reluOp = defineOp(
  'aten::relu(Tensor self) -> Tensor',
  restrictedTo(
    NUMBERS,
    'relu',
    unary((x) => larger(x, 0), {
      saved: ['out'],
      vjp: (_args, { grad, out }) => ({ self: () => thresholdBackward(grad, out, 0) }),
    }),
  ),
);
const reluInplace = defineInplace(reluOp);

const thresholdOp = defineOp(
  'aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor',
  restrictedTo(
    NUMBERS,
    'threshold',
    pointwiseWith(
      ({ self, threshold, value }) => {
        const limit = limitIn(self.dtype, threshold);
        const below = roundTo(self.dtype, scalarValue(value));
        return (x) => (x! <= limit ? below : x!);
      },
      {
        operands: ['self'],
        saved: ['self'],
        vjp: ({ self, threshold: limit }, { grad }) => ({
          self: () => thresholdBackward(grad, self, limit),
        }),
      },
    ),
  ),
);
const thresholdInplace = defineInplace(thresholdOp);

const leakyReluOp = defineOp(
  'aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor',
  restrictedTo(
    'floating',
    'leaky_relu',
    pointwiseWith(
      ({ negative_slope }) =>
        ((slope) => (x) => (x > 0 ? x : x * slope))(scalarValue(negative_slope)),
      {
        operands: ['self'],
        saved: ['self'],
        vjp: ({ self, negative_slope }, { grad }) => ({
          self: () => leakyReluBackward(grad, self, negative_slope),
        }),
      },
    ),
  ),
);
const leakyReluInplace = defineInplace(leakyReluOp);

/** @throws invalid-argument for limits the wrong way round, dtype-unsupported for a negative one of an unsigned type */
function checkLimits(self: Tensor, low: ScalarLike, high: ScalarLike): void {
  if (typeof low === 'number' && typeof high === 'number' && low > high)
    throw new TesseraError(
      'invalid-argument',
      `hardtanh: min_val cannot be greater than max_val, but got ${low} and ${high}`,
      { hints: ['Swap the ends of the range.'] },
    );
  if (self?.dtype !== 'uint8' || (fixedScalar(low) >= 0 && fixedScalar(high) >= 0)) return;
  throw new TesseraError(
    'dtype-unsupported',
    'cannot do hardtanh on an unsigned type with negative limits',
    { hints: ["Convert first: x.to('int16')."] },
  );
}

const hardtanhOp = defineOp(
  'aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor',
  restrictedTo(
    NUMBERS,
    'hardtanh',
    pointwiseWith(
      ({ self, min_val, max_val }) =>
        (
          (low, high) => (x) =>
            smaller(larger(x, low), high)
        )(roundTo(self.dtype, scalarValue(min_val)), roundTo(self.dtype, scalarValue(max_val))),
      {
        operands: ['self'],
        saved: ['self'],
        vjp: ({ self, min_val, max_val }, { grad }) => ({
          self: () => hardtanhBackward(grad, self, min_val, max_val),
        }),
      },
    ),
  ),
);
const hardtanhInplace = defineInplace(hardtanhOp);

const relu6Op = defineOp('aten::relu6(Tensor self) -> Tensor', {
  decompose: ({ self }) => hardtanh(self, { minVal: 0, maxVal: 6 }),
});

const hardsigmoidOp = defineOp(
  'aten::hardsigmoid(Tensor self) -> Tensor',
  restrictedTo(
    'floating',
    'hardsigmoid',
    unary((x) => Math.min(Math.max(x + 3, 0), 6) / 6, {
      saved: ['self'],
      vjp: ({ self }, { grad }) => ({ self: () => hardsigmoidBackward(grad, self) }),
    }),
  ),
);
const hardswishOp = defineOp(
  'aten::hardswish(Tensor self) -> Tensor',
  restrictedTo(
    'floating',
    'hardswish',
    unary((x) => (x * Math.min(Math.max(x + 3, 0), 6)) / 6, {
      saved: ['self'],
      vjp: ({ self }, { grad }) => ({ self: () => hardswishBackward(grad, self) }),
    }),
  ),
);

/** max(x, 0); NaN stays. */
export const relu: Unary = unaryFunction(reluOp);
/** self = relu(self) */
export const relu_: Unary = unaryFunction(reluInplace);
/** min(max(x, 0), 6) */
export const relu6: Unary = unaryFunction(relu6Op);
/** Piecewise-linear sigmoid: relu6(x + 3) / 6. */
export const hardsigmoid: Unary = unaryFunction(hardsigmoidOp);
/** self = hardsigmoid(self) */
export const hardsigmoid_: Unary = unaryFunction(defineInplace(hardsigmoidOp));
/** x · relu6(x + 3) / 6 */
export const hardswish: Unary = unaryFunction(hardswishOp);
/** self = hardswish(self) */
export const hardswish_: Unary = unaryFunction(defineInplace(hardswishOp));

/** x where it exceeds the threshold, else `value`. */
export function threshold(self: Tensor, limit: ScalarLike, value: ScalarLike): Tensor {
  return callOp(thresholdOp, [self, limit, value]);
}

/** self = threshold(self, limit, value) */
export function threshold_(self: Tensor, limit: ScalarLike, value: ScalarLike): Tensor {
  return callOp(thresholdInplace, [self, limit, value]);
}

/** Options of `leakyRelu`. */
export interface LeakyReluOptions {
  /** The factor of negative values (default 0.01). */
  readonly negativeSlope?: ScalarLike;
}
const LEAKY_RELU: OptionNames<LeakyReluOptions> = { negativeSlope: true };

/** Options of `hardtanh`. */
export interface HardtanhOptions {
  /** The smallest result (default -1). */
  readonly minVal?: ScalarLike;
  /** The largest result (default 1). */
  readonly maxVal?: ScalarLike;
}
const HARDTANH: OptionNames<HardtanhOptions> = { minVal: true, maxVal: true };

/** x for positive x, else negativeSlope · x. */
export function leakyRelu(self: Tensor, options?: LeakyReluOptions): Tensor {
  checkOptionNames('leakyRelu', options, LEAKY_RELU);
  return callOp(leakyReluOp, [self, options?.negativeSlope ?? 0.01]);
}

/** self = leakyRelu(self) */
export function leakyRelu_(self: Tensor, options?: LeakyReluOptions): Tensor {
  checkOptionNames('leakyRelu_', options, LEAKY_RELU);
  return callOp(leakyReluInplace, [self, options?.negativeSlope ?? 0.01]);
}

/** self limited to [minVal, maxVal], with zero gradient at and beyond the limits. */
export function hardtanh(self: Tensor, options?: HardtanhOptions): Tensor {
  checkOptionNames('hardtanh', options, HARDTANH);
  const minVal = options?.minVal ?? -1;
  const maxVal = options?.maxVal ?? 1;
  checkLimits(self, minVal, maxVal);
  return callOp(hardtanhOp, [self, minVal, maxVal]);
}

/** self = hardtanh(self) */
export function hardtanh_(self: Tensor, options?: HardtanhOptions): Tensor {
  checkOptionNames('hardtanh_', options, HARDTANH);
  const minVal = options?.minVal ?? -1;
  const maxVal = options?.maxVal ?? 1;
  checkLimits(self, minVal, maxVal);
  return callOp(hardtanhInplace, [self, minVal, maxVal]);
}
