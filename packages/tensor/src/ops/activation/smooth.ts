/**
 * @file Smooth activations: gelu, silu, softplus, elu, celu, selu, mish.
 *
 * Their derivatives are ops of their own, as in PyTorch's joint graphs (smooth-backward.ts).
 */
import {
  type OptionNames,
  type ScalarLike,
  checkOptionNames,
  isSymScalar,
  TesseraError,
} from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { pointwiseWith, scalarValue, unary } from '../../kernels/pointwise-kernel.js';
import { erf as erfOf, logistic } from '../../kernels/special-functions.js';
import { restrictedTo } from '../../kernels/restrict-dtypes.js';
import { defineInplace } from '../../op/inplace.js';
import { type Unary, unaryFunction } from '../../op/op-functions.js';
import { defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { eluBackward, mishBackward, siluBackward, softplusBackward } from './smooth-backward.js';
import { exp } from '../pointwise/exponential.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';
import { rsub } from '../pointwise/rsub.js';
import { tanh } from '../pointwise/trigonometric.js';

/** `none` uses erf, `tanh` its usual approximation. */
export type GeluApproximation = 'none' | 'tanh';

const K = Math.sqrt(2 / Math.PI);
const C = 0.044715;

function geluOf(x: number, approximate: string): number {
  return approximate === 'tanh'
    ? 0.5 * x * (1 + Math.tanh(K * (x + C * x ** 3)))
    : 0.5 * x * (1 + erfOf(x * Math.SQRT1_2));
}

function geluDerivative(x: number, approximate: string): number {
  if (approximate === 'tanh') {
    const t = Math.tanh(K * (x + C * x ** 3));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * K * (1 + 3 * C * x * x);
  }
  return (
    0.5 * (1 + erfOf(x * Math.SQRT1_2)) + (x * Math.exp(-0.5 * x * x)) / Math.sqrt(2 * Math.PI)
  );
}

const geluOp = defineOp(
  'aten::gelu(Tensor self, *, str approximate="none") -> Tensor',
  restrictedTo(
    'floating',
    'gelu',
    pointwiseWith(
      ({ approximate }) =>
        (x) =>
          geluOf(x!, approximate),
      {
        operands: ['self'],
        saved: ['self'],
        vjp: ({ self, approximate }, { grad }) => ({
          self: () => geluBackward(grad, self, approximate),
        }),
      },
    ),
  ),
);
const geluInplace = defineInplace(geluOp);
const geluBackwardOp = defineOp(
  'aten::gelu_backward(Tensor grad_output, Tensor self, *, str approximate="none") -> Tensor',
  pointwiseWith(
    ({ approximate }) =>
      (grad, x) =>
        grad! * geluDerivative(x!, approximate),
    {
      operands: ['grad_output', 'self'],
      saved: ['grad_output', 'self'],
      vjp: ({ grad_output, self, approximate }, { grad }) => ({
        grad_output: () => geluBackward(grad, self, approximate),
        self: () => mul(mul(grad, grad_output), geluSecondDerivative(self, approximate)),
      }),
    },
  ),
);

function geluBackward(grad: Tensor, self: Tensor, approximate: string): Tensor {
  return callOp(geluBackwardOp, [grad, self, approximate]);
}

function geluSecondDerivative(x: Tensor, approximate: string): Tensor {
  const square = mul(x, x);
  if (approximate !== 'tanh')
    return mul(mul(exp(mul(square, -0.5)), rsub(square, 2)), 1 / Math.sqrt(2 * Math.PI));
  const t = tanh(mul(add(x, mul(mul(square, x), C)), K));
  const first = mul(add(mul(square, 3 * C), 1), K);
  const bend = sub(mul(x, 6 * K * C), mul(mul(t, mul(first, first)), 2));
  return mul(rsub(mul(t, t), 1), add(first, mul(mul(x, bend), 0.5)));
}

const siluOp = defineOp(
  'aten::silu(Tensor self) -> Tensor',
  restrictedTo(
    'floating',
    'silu',
    unary((x) => x * logistic(x), {
      saved: ['self'],
      vjp: ({ self }, { grad }) => ({ self: () => siluBackward(grad, self) }),
    }),
  ),
);
const softplusOp = defineOp(
  'aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor',
  restrictedTo(
    'floating',
    'softplus',
    pointwiseWith(
      ({ beta, threshold }) =>
        ((b, limit) => (x) => (x * b > limit ? x : Math.log1p(Math.exp(x * b)) / b))(
          scalarValue(beta),
          scalarValue(threshold),
        ),
      {
        operands: ['self'],
        saved: ['self'],
        vjp: ({ self, beta, threshold }, { grad }) => ({
          self: () => softplusBackward(grad, self, beta, threshold),
        }),
      },
    ),
  ),
);

const eluOp = defineOp(
  'aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor',
  restrictedTo(
    'floating',
    'elu',
    pointwiseWith(
      (args) => {
        const [alpha, scale, inputScale] = [args.alpha, args.scale, args.input_scale].map((value) =>
          scalarValue(value),
        );
        return (x) => (x! > 0 ? x! * scale : Math.expm1(x! * inputScale) * alpha * scale);
      },
      {
        operands: ['self'],
        saved: ['self'],
        vjp: ({ self, alpha, scale, input_scale }, { grad }) => ({
          self: () => eluBackward(grad, alpha, scale, input_scale, self),
        }),
      },
    ),
  ),
);
const eluInplace = defineInplace(eluOp);

const mishOp = defineOp(
  'aten::mish(Tensor self) -> Tensor',
  restrictedTo(
    'floating',
    'mish',
    unary((x) => x * Math.tanh(Math.log1p(Math.exp(x))), {
      saved: ['self'],
      vjp: ({ self }, { grad }) => ({ self: () => mishBackward(grad, self) }),
    }),
  ),
);

const SELU_ALPHA = 1.6732632423543772;
const SELU_SCALE = 1.0507009873554805;
const seluOp = defineOp('aten::selu(Tensor self) -> Tensor', {
  decompose: ({ self }) => elu(self, { alpha: SELU_ALPHA, scale: SELU_SCALE }),
});
const seluInplace = defineOp('aten::selu_(Tensor(a!) self) -> Tensor(a!)', {
  decompose: ({ self }) => elu_(self, { alpha: SELU_ALPHA, scale: SELU_SCALE }),
});

/** What celu passes to elu. @throws invalid-argument for alpha = 0 */
function celuScales(alpha: ScalarLike): { alpha: number; inputScale: number } {
  const value = isSymScalar(alpha) ? alpha.valueOf() : Number(alpha);
  if (value === 0) {
    throw new TesseraError('invalid-argument', 'ZeroDivisionError: alpha cannot be 0 for CELU', {
      hints: ['Use relu for the limit.'],
    });
  }
  return { alpha: value, inputScale: 1 / value };
}

const celuOp = defineOp('aten::celu(Tensor self, Scalar alpha=1.) -> Tensor', {
  decompose: ({ self, alpha }) => elu(self, celuScales(alpha)),
});
const celuInplace = defineOp('aten::celu_(Tensor(a!) self, Scalar alpha=1.) -> Tensor(a!)', {
  decompose: ({ self, alpha }) => elu_(self, celuScales(alpha)),
});

/** Options of `celu`. */
export interface CeluOptions {
  /** What large negative values come close to, negated (default 1). */
  readonly alpha?: ScalarLike;
}
const CELU: OptionNames<CeluOptions> = { alpha: true };

/** Options of `softplus`. */
export interface SoftplusOptions {
  /** How sharp the bend is (default 1). */
  readonly beta?: ScalarLike;
  /** Above it, of beta · x, the result is x (default 20). */
  readonly threshold?: ScalarLike;
}
const SOFTPLUS: OptionNames<SoftplusOptions> = { beta: true, threshold: true };

/** Options of `elu`. */
export interface EluOptions {
  /** What large negative values come close to, negated (default 1). */
  readonly alpha?: ScalarLike;
  /** A factor of the result (default 1). */
  readonly scale?: ScalarLike;
  /** A factor of negative values before the exponential (default 1). */
  readonly inputScale?: ScalarLike;
}
const ELU: OptionNames<EluOptions> = { alpha: true, scale: true, inputScale: true };

const APPROXIMATE: OptionNames<{ approximate?: GeluApproximation }> = { approximate: true };

function approximation({ approximate = 'none' }: { approximate?: GeluApproximation } = {}): string {
  if (approximate === 'none' || approximate === 'tanh') return approximate;
  throw new TesseraError('invalid-argument', 'approximate argument must be either none or tanh.', {
    hints: [`It is '${String(approximate)}'.`],
  });
}

/** Gaussian error linear unit: x · Φ(x). @see https://arxiv.org/abs/1606.08415 */
export function gelu(self: Tensor, options?: { approximate?: GeluApproximation }): Tensor {
  checkOptionNames('gelu', options, APPROXIMATE);
  return callOp(geluOp, [self, approximation(options)]);
}

/** self = gelu(self) */
export function gelu_(self: Tensor, options?: { approximate?: GeluApproximation }): Tensor {
  checkOptionNames('gelu_', options, APPROXIMATE);
  return callOp(geluInplace, [self, approximation(options)]);
}

/** x · sigmoid(x), also called swish. */
export const silu: Unary = unaryFunction(siluOp);
/** self = silu(self) */
export const silu_: Unary = unaryFunction(defineInplace(siluOp));
/** x · tanh(softplus(x)) */
export const mish: Unary = unaryFunction(mishOp);
/** self = mish(self) */
export const mish_: Unary = unaryFunction(defineInplace(mishOp));
/** Scaled elu with self-normalising constants. */
export const selu: Unary = unaryFunction(seluOp);
/** self = selu(self) */
export const selu_: Unary = unaryFunction(seluInplace);

/** elu that is continuously differentiable for every alpha: max(0, x) + min(0, alpha · (exp(x / alpha) - 1)). @throws invalid-argument */
export function celu(self: Tensor, options?: CeluOptions): Tensor {
  checkOptionNames('celu', options, CELU);
  return callOp(celuOp, [self, options?.alpha ?? 1]);
}

/** self = celu(self) */
export function celu_(self: Tensor, options?: CeluOptions): Tensor {
  checkOptionNames('celu_', options, CELU);
  return callOp(celuInplace, [self, options?.alpha ?? 1]);
}

/** log(1 + exp(beta · x)) / beta; x itself above the threshold. */
export function softplus(self: Tensor, options?: SoftplusOptions): Tensor {
  checkOptionNames('softplus', options, SOFTPLUS);
  return callOp(softplusOp, [self, options?.beta ?? 1, options?.threshold ?? 20]);
}

/** scale · x for positive x, else scale · alpha · (exp(inputScale · x) - 1). */
export function elu(self: Tensor, options?: EluOptions): Tensor {
  checkOptionNames('elu', options, ELU);
  return callOp(eluOp, [self, options?.alpha ?? 1, options?.scale ?? 1, options?.inputScale ?? 1]);
}

/** self = elu(self) */
export function elu_(self: Tensor, options?: EluOptions): Tensor {
  checkOptionNames('elu_', options, ELU);
  return callOp(eluInplace, [
    self,
    options?.alpha ?? 1,
    options?.scale ?? 1,
    options?.inputScale ?? 1,
  ]);
}
