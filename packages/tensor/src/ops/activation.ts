/**
 * @file Piecewise-linear activations: relu and its kin.
 */
import type { ScalarLike } from '@tessera/shared';
import { callOp } from '../dispatch/dispatcher.js';
import { pointwiseWith, scalarValue, unary } from '../kernels/pointwise-kernel.js';
import { defineInplace } from '../op/inplace.js';
import { type Unary, unaryFunction } from '../op/op-functions.js';
import { defineOp } from '../op/op-overload.js';
import type { Tensor } from '../tensor.js';
import { ge, gt, le, lt } from './comparison.js';
import { zerosLike } from './factory-like.js';
import { logicalAnd } from './logical.js';
import { div } from './division.js';
import { add, mul } from './pointwise-arithmetic.js';
import { where } from './where.js';

const reluOp = defineOp(
  'aten::relu(Tensor self) -> Tensor',
  unary((x) => Math.max(x, 0), {
    saved: ['out'],
    vjp: (_args, { grad, out }) => ({ self: () => thresholdBackward(grad, out, 0) }),
  }),
);
const reluInplace = defineInplace(reluOp);

const thresholdBackwardOp = defineOp(
  'aten::threshold_backward(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor',
  pointwiseWith(
    ({ threshold }) =>
      ((limit) => (grad, x) => (x <= limit ? 0 : grad))(scalarValue(threshold as ScalarLike)),
    {
      operands: ['grad_output', 'self'],
      saved: ['self'],
      vjp: ({ self, threshold }, { grad }) => ({
        grad_output: () => thresholdBackward(grad, self as Tensor, threshold as ScalarLike),
        self: () => zerosLike(grad),
      }),
    },
  ),
);

const leakyReluOp = defineOp(
  'aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor',
  pointwiseWith(
    ({ negative_slope }) =>
      ((slope) => (x) => (x > 0 ? x : x * slope))(scalarValue(negative_slope as ScalarLike)),
    {
      operands: ['self'],
      saved: ['self'],
      vjp: ({ self, negative_slope }, { grad }) => ({
        self: () => where(gt(self as Tensor, 0), grad, mul(grad, negative_slope as ScalarLike)),
      }),
    },
  ),
);
const leakyReluInplace = defineInplace(leakyReluOp);

const hardtanhOp = defineOp(
  'aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor',
  pointwiseWith(
    ({ min_val, max_val }) =>
      (
        (low, high) => (x) =>
          Math.min(Math.max(x, low), high)
      )(scalarValue(min_val as ScalarLike), scalarValue(max_val as ScalarLike)),
    {
      operands: ['self'],
      saved: ['self'],
      vjp: ({ self, min_val, max_val }, { grad }) => ({
        self: () =>
          where(
            logicalAnd(
              gt(self as Tensor, min_val as ScalarLike),
              lt(self as Tensor, max_val as ScalarLike),
            ),
            grad,
            0,
          ),
      }),
    },
  ),
);
const hardtanhInplace = defineInplace(hardtanhOp);

const relu6Op = defineOp('aten::relu6(Tensor self) -> Tensor', {
  decompose: ({ self }) => hardtanh(self as Tensor, 0, 6),
});

const hardsigmoidOp = defineOp(
  'aten::hardsigmoid(Tensor self) -> Tensor',
  unary((x) => Math.min(Math.max(x + 3, 0), 6) / 6, {
    saved: ['self'],
    vjp: ({ self }, { grad }) => ({
      self: () => where(logicalAnd(gt(self as Tensor, -3), lt(self as Tensor, 3)), div(grad, 6), 0),
    }),
  }),
);
const hardswishOp = defineOp(
  'aten::hardswish(Tensor self) -> Tensor',
  unary((x) => (x * Math.min(Math.max(x + 3, 0), 6)) / 6, {
    saved: ['self'],
    vjp: ({ self }, { grad }) => ({
      self: () =>
        where(
          le(self as Tensor, -3),
          0,
          where(ge(self as Tensor, 3), grad, mul(grad, add(div(self as Tensor, 3), 0.5))),
        ),
    }),
  }),
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

/** `gradOutput` where self exceeds the threshold, else 0. */
export function thresholdBackward(gradOutput: Tensor, self: Tensor, threshold: ScalarLike): Tensor {
  return callOp(thresholdBackwardOp, [gradOutput, self, threshold]) as Tensor;
}

/** x for positive x, else negativeSlope · x. */
export function leakyRelu(self: Tensor, negativeSlope: ScalarLike = 0.01): Tensor {
  return callOp(leakyReluOp, [self, negativeSlope]) as Tensor;
}

/** self = leakyRelu(self) */
export function leakyRelu_(self: Tensor, negativeSlope: ScalarLike = 0.01): Tensor {
  return callOp(leakyReluInplace, [self, negativeSlope]) as Tensor;
}

/** self limited to [minVal, maxVal], with zero gradient at and beyond the limits. */
export function hardtanh(self: Tensor, minVal: ScalarLike = -1, maxVal: ScalarLike = 1): Tensor {
  return callOp(hardtanhOp, [self, minVal, maxVal]) as Tensor;
}

/** self = hardtanh(self) */
export function hardtanh_(self: Tensor, minVal: ScalarLike = -1, maxVal: ScalarLike = 1): Tensor {
  return callOp(hardtanhInplace, [self, minVal, maxVal]) as Tensor;
}
