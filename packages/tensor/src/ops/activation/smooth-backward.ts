/**
 * @file Backward ops of silu, softplus, elu and mish, as PyTorch's joint graphs name them.
 *
 * Each is `grad · f'(self)`, and its own gradient `grad · grad_output · f''(self)`, written in
 * differentiable ops.
 */
import { TesseraError, type ScalarLike } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { pointwise, pointwiseWith, scalarValue } from '../../kernels/pointwise-kernel.js';
import { logistic } from '../../kernels/special-functions.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { Vjp } from '../../op/op-record.js';
import type { Tensor } from '../../tensor.js';
import { gt, lt } from '../pointwise/comparison.js';
import { exp, log1p } from '../pointwise/exponential.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';
import { rsub } from '../pointwise/rsub.js';
import { sigmoid, tanh } from '../pointwise/trigonometric.js';
import { where } from '../pointwise/where.js';

const SAVED = {
  grad_output: ['self'],
  self: ['grad_output', 'self'],
} as const;

/** The vjp of `grad_output · f'(self)`, from the op itself and f''. */
function secondOrder<Args extends { self: Tensor; grad_output: Tensor }>(
  again: (grad: Tensor, args: NoInfer<Args>) => Tensor,
  second: (self: Tensor, args: NoInfer<Args>) => Tensor,
): Vjp<Args> {
  return (args, { grad }) => ({
    grad_output: () => again(grad, args),
    self: () => mul(mul(grad, args.grad_output), second(args.self, args)),
  });
}

const siluOp: OpOverload<Tensor> = defineOp(
  'aten::silu_backward(Tensor grad_output, Tensor self) -> Tensor',
  pointwise(
    (grad, x) => {
      const s = logistic(x);
      return grad * s * (1 + x * (1 - s));
    },
    {
      operands: ['grad_output', 'self'],
      savedFor: SAVED,
      vjp: secondOrder(
        (grad, { self }) => siluBackward(grad, self),
        (x) => {
          const s = sigmoid(x);
          const slope = mul(s, rsub(s, 1));
          return mul(slope, add(mul(x, rsub(mul(s, 2), 1)), 2));
        },
      ),
    },
  ),
);

const softplusOp: OpOverload<Tensor> = defineOp(
  'aten::softplus_backward(Tensor grad_output, Tensor self, Scalar beta, Scalar threshold) -> Tensor',
  pointwiseWith(
    ({ beta, threshold }) => {
      const [b, limit] = [scalarValue(beta), scalarValue(threshold)];
      return (grad, x) => (x! * b > limit ? grad! : grad! * logistic(x! * b));
    },
    {
      operands: ['grad_output', 'self'],
      savedFor: SAVED,
      vjp: secondOrder(
        (grad, { self, beta, threshold }) => softplusBackward(grad, self, beta, threshold),
        (x, { beta, threshold }) => {
          const scaled = mul(x, beta);
          const s = sigmoid(scaled);
          const bend = mul(mul(s, rsub(s, 1)), beta);
          return where(gt(scaled, threshold), 0, bend);
        },
      ),
    },
  ),
);

interface EluScales {
  /** alpha · scale */
  readonly negative: number;
  readonly positive: number;
  readonly input: number;
}

function eluScales({
  alpha,
  scale,
  input_scale,
}: {
  alpha: ScalarLike;
  scale: ScalarLike;
  input_scale: ScalarLike;
}): EluScales {
  const positive = scalarValue(scale);
  return {
    negative: scalarValue(alpha) * positive,
    positive,
    input: scalarValue(input_scale),
  };
}

interface EluArgs {
  readonly alpha: ScalarLike;
  readonly scale: ScalarLike;
  readonly input_scale: ScalarLike;
  readonly is_result: boolean;
  readonly self_or_result: Tensor;
}

/** f'' of elu. */
function eluCurvature({
  alpha,
  scale,
  input_scale,
  is_result,
  self_or_result: x,
}: EluArgs): Tensor {
  // At 0 itself PyTorch says that the slope does not change.
  if (is_result) return mul(lt(x, 0), input_scale);
  const curve = mul(exp(mul(x, input_scale)), alpha);
  const bend = mul(mul(mul(curve, scale), input_scale), input_scale);
  return where(lt(x, 0), bend, 0);
}

const eluOp: OpOverload<Tensor> = defineOp(
  'aten::elu_backward(Tensor grad_output, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Tensor self_or_result) -> Tensor',
  pointwiseWith(
    (args) => {
      const { negative, positive, input } = eluScales(args);
      if (args.is_result !== true)
        return (grad, x) =>
          x! <= 0 ? grad! * input * negative * Math.exp(x! * input) : grad! * positive;
      if (scalarValue(args.alpha) < 0) {
        throw new TesseraError(
          'invalid-argument',
          'In-place elu backward calculation is triggered with a negative slope which is not supported.',
          { hints: ['Call the functional form.'] },
        );
      }
      return (grad, y) => (y! <= 0 ? grad! * input * (y! + negative) : grad! * positive);
    },
    {
      operands: ['grad_output', 'self_or_result'],
      savedFor: {
        grad_output: ['self_or_result'],
        self_or_result: ['grad_output', 'self_or_result'],
      },
      vjp: (args, { grad }) => ({
        grad_output: () => {
          const { alpha, scale, input_scale, is_result, self_or_result } = args;
          return callOp(eluOp, [grad, alpha, scale, input_scale, is_result, self_or_result]);
        },
        self_or_result: () => mul(mul(grad, args.grad_output), eluCurvature(args)),
      }),
    },
  ),
);

const mishOp: OpOverload<Tensor> = defineOp(
  'aten::mish_backward(Tensor grad_output, Tensor self) -> Tensor',
  pointwise(
    (grad, x) => {
      const t = Math.tanh(x > 30 ? x : Math.log1p(Math.exp(x)));
      return grad * (t + x * logistic(x) * (1 - t * t));
    },
    {
      operands: ['grad_output', 'self'],
      savedFor: SAVED,
      vjp: secondOrder(
        (grad, { self }) => mishBackward(grad, self),
        (x) => {
          const s = sigmoid(x);
          const t = tanh(where(gt(x, 20), x, log1p(exp(x))));
          const slope = mul(s, rsub(mul(t, t), 1));
          // t' = slope, and slope' = slope · (1 - s - 2ts)
          const curvature = sub(rsub(s, 1), mul(mul(t, s), 2));
          return mul(slope, add(mul(x, curvature), 2));
        },
      ),
    },
  ),
);

/** The gradient of silu. */
export function siluBackward(grad: Tensor, self: Tensor): Tensor {
  return callOp(siluOp, [grad, self]);
}

/** The gradient of softplus. */
export function softplusBackward(
  grad: Tensor,
  self: Tensor,
  beta: ScalarLike,
  threshold: ScalarLike,
): Tensor {
  return callOp(softplusOp, [grad, self, beta, threshold]);
}

/** The gradient of elu, from its input. */
export function eluBackward(
  grad: Tensor,
  alpha: ScalarLike,
  scale: ScalarLike,
  inputScale: ScalarLike,
  self: Tensor,
): Tensor {
  return callOp(eluOp, [grad, alpha, scale, inputScale, false, self]);
}

/** The gradient of mish. */
export function mishBackward(grad: Tensor, self: Tensor): Tensor {
  return callOp(mishOp, [grad, self]);
}
