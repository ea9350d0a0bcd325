/**
 * @file Backward ops of the piecewise-linear activations, as PyTorch's joint graphs name them.
 *
 * Each is the incoming gradient times a slope that is constant by pieces, so that its gradient in
 * `grad_output` is the op itself and in `self` zero (but for hardswish, whose middle piece bends).
 */
import { TesseraError, type ScalarLike } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { type DType, opmathType } from '../../dtype.js';
import { roundTo } from '../../kernels/elements.js';
import { pointwiseMeta, pointwiseWith, scalarValue } from '../../kernels/pointwise-kernel.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { gt, lt } from '../pointwise/comparison.js';
import { zerosLike } from '../factory/like.js';
import { logicalAnd } from '../pointwise/logical.js';
import { mul } from '../pointwise/arithmetic.js';
import { where } from '../pointwise/where.js';

type BackwardFunction = (
  parameters: Readonly<Record<string, ScalarLike>>,
  self: Tensor,
) => (grad: number, x: number) => number;

/** What differs between piecewise backward ops. */
export interface PiecewiseOptions {
  readonly gradName?: string;
  /** Whether `self` comes first where the layouts differ, not the gradient. */
  readonly laidOutAsSelf?: boolean;
  /** For slopes that are not constant: the gradient in self, of the product of both gradients. */
  readonly bend?: (product: Tensor, self: Tensor) => Tensor;
}

/** The op `name_backward(grad_output, self, …)` with parameters after the tensors. */
export function definePiecewise(
  name: string,
  parameters: readonly string[],
  fnOf: BackwardFunction,
  { gradName = 'grad_output', laidOutAsSelf = false, bend }: PiecewiseOptions = {},
): OpOverload<Tensor> {
  const tail = parameters.map((parameter) => `, ${parameter}`).join('');
  const operands = [gradName, 'self'];
  const meta = pointwiseMeta({
    name: `${name}_backward`,
    operands: laidOutAsSelf ? operands.toReversed() : operands,
  });
  const op: OpOverload<Tensor> = defineOp(
    `aten::${name}_backward(Tensor ${gradName}, Tensor self${tail}) -> Tensor`,
    {
      ...pointwiseWith((args) => fnOf(args, args.self), {
        operands,
        savedFor: {
          [gradName]: ['self'],
          self: bend === undefined ? [] : [gradName, 'self'],
        },
        vjp: (args, { grad }) => ({
          [gradName]: () =>
            callOp(
              op,
              op.schema.args.map(({ name: arg }) => (arg === gradName ? grad : args[arg])),
            ),
          self: () =>
            bend === undefined ? zerosLike(grad) : bend(mul(grad, args[gradName]), args.self),
        }),
      }),
      meta,
    },
  );
  return op;
}

/** A limit as elements of a dtype are compared with it: 16-bit floats in 32 bits. */
export function limitIn(dtype: DType, limit: ScalarLike): number {
  return roundTo(opmathType(dtype), scalarValue(limit));
}

const thresholdOp = definePiecewise(
  'threshold',
  ['Scalar threshold'],
  ({ threshold }, { dtype }) => {
    const limit = limitIn(dtype, threshold);
    return (grad, x) => (x <= limit ? 0 : grad);
  },
  { laidOutAsSelf: true },
);

const leakyReluOp = definePiecewise(
  'leaky_relu',
  ['Scalar negative_slope', 'bool self_is_result'],
  ({ negative_slope, self_is_result }) => {
    const slope = scalarValue(negative_slope);
    if (self_is_result === true && slope < 0) {
      throw new TesseraError(
        'invalid-argument',
        'In-place leakyReLu backward calculation is triggered with a negative slope which is not supported.',
        { hints: ['Call the functional form.'] },
      );
    }
    return (grad, x) => (x > 0 ? grad : grad * slope);
  },
  { laidOutAsSelf: true },
);

const hardtanhOp = definePiecewise(
  'hardtanh',
  ['Scalar min_val', 'Scalar max_val'],
  ({ min_val, max_val }) => {
    const [low, high] = [scalarValue(min_val), scalarValue(max_val)];
    return (grad, x) => (x <= low || x >= high ? 0 : grad);
  },
);

const hardsigmoidOp = definePiecewise(
  'hardsigmoid',
  [],
  () => (grad, x) => (x > -3 && x < 3 ? grad / 6 : 0),
);

const hardswishOp = definePiecewise(
  'hardswish',
  [],
  () => (grad, x) => (x <= -3 ? 0 : x >= 3 ? grad : grad * (x / 3 + 0.5)),
  { bend: (product, x) => where(logicalAnd(gt(x, -3), lt(x, 3)), mul(product, 1 / 3), 0) },
);

/** `gradOutput` where self exceeds the threshold, else 0. */
export function thresholdBackward(gradOutput: Tensor, self: Tensor, threshold: ScalarLike): Tensor {
  return callOp(thresholdOp, [gradOutput, self, threshold]);
}

/** The gradient of leakyRelu. */
export function leakyReluBackward(grad: Tensor, self: Tensor, negativeSlope: ScalarLike): Tensor {
  return callOp(leakyReluOp, [grad, self, negativeSlope, false]);
}

/** The gradient of hardtanh. */
export function hardtanhBackward(
  grad: Tensor,
  self: Tensor,
  minVal: ScalarLike,
  maxVal: ScalarLike,
): Tensor {
  return callOp(hardtanhOp, [grad, self, minVal, maxVal]);
}

/** The gradient of hardsigmoid. */
export function hardsigmoidBackward(grad: Tensor, self: Tensor): Tensor {
  return callOp(hardsigmoidOp, [grad, self]);
}

/** The gradient of hardswish. */
export function hardswishBackward(grad: Tensor, self: Tensor): Tensor {
  return callOp(hardswishOp, [grad, self]);
}
