/**
 * @file Sine, cosine, tanh, sigmoid and erf, with the backward ops that PyTorch's joint graphs name.
 */
import { callOp } from '../../dispatch/dispatcher.js';
import { pointwise, unary } from '../../kernels/pointwise-kernel.js';
import { erf as erfOf, erfc as erfcOf, logistic } from '../../kernels/special-functions.js';
import { defineInplace } from '../../op/inplace.js';
import { type Unary, unaryFunction } from '../../op/op-functions.js';
import { defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { exp } from './exponential.js';
import { div } from './division.js';
import { add, mul, neg } from './arithmetic.js';
import { rsub } from './rsub.js';

const sinOp = defineOp(
  'aten::sin(Tensor self) -> Tensor',
  unary(Math.sin, {
    result: 'float',
    saved: ['self'],
    vjp: ({ self }, { grad }) => ({ self: () => mul(grad, cos(self)) }),
  }),
);
const cosOp = defineOp(
  'aten::cos(Tensor self) -> Tensor',
  unary(Math.cos, {
    result: 'float',
    saved: ['self'],
    vjp: ({ self }, { grad }) => ({ self: () => mul(grad, neg(sin(self))) }),
  }),
);
const tanOp = defineOp(
  'aten::tan(Tensor self) -> Tensor',
  unary(Math.tan, {
    result: 'float',
    saved: ['out'],
    vjp: (_args, { grad, out }) => ({ self: () => mul(grad, add(mul(out, out), 1)) }),
  }),
);
const atanOp = defineOp(
  'aten::atan(Tensor self) -> Tensor',
  unary(Math.atan, {
    result: 'float',
    saved: ['self'],
    vjp: ({ self }, { grad }) => ({
      self: () => div(grad, add(mul(self, self), 1)),
    }),
  }),
);

const tanhOp = defineOp(
  'aten::tanh(Tensor self) -> Tensor',
  unary(Math.tanh, {
    result: 'float',
    saved: ['out'],
    vjp: (_args, { grad, out }) => ({ self: () => tanhBackward(grad, out) }),
  }),
);
const sigmoidOp = defineOp(
  'aten::sigmoid(Tensor self) -> Tensor',
  unary(logistic, {
    result: 'float',
    saved: ['out'],
    vjp: (_args, { grad, out }) => ({ self: () => sigmoidBackward(grad, out) }),
  }),
);

const tanhBackwardOp = defineOp(
  'aten::tanh_backward(Tensor grad_output, Tensor output) -> Tensor',
  pointwise((g, y) => g * (1 - y * y), {
    operands: ['grad_output', 'output'],
    saved: ['grad_output', 'output'],
    vjp: ({ grad_output, output }, { grad }) => ({
      grad_output: () => tanhBackward(grad, output),
      output: () => mul(mul(grad, mul(grad_output, output)), -2),
    }),
  }),
);
const sigmoidBackwardOp = defineOp(
  'aten::sigmoid_backward(Tensor grad_output, Tensor output) -> Tensor',
  pointwise((g, y) => g * ((1 - y) * y), {
    operands: ['grad_output', 'output'],
    saved: ['grad_output', 'output'],
    vjp: ({ grad_output, output }, { grad }) => ({
      grad_output: () => sigmoidBackward(grad, output),
      output: () => mul(grad, mul(grad_output, rsub(mul(output, 2), 1))),
    }),
  }),
);

const erfOp = defineOp(
  'aten::erf(Tensor self) -> Tensor',
  unary(erfOf, {
    result: 'float',
    saved: ['self'],
    vjp: ({ self }, { grad }) => ({ self: () => mul(grad, gaussian(self)) }),
  }),
);
const erfcOp = defineOp(
  'aten::erfc(Tensor self) -> Tensor',
  unary(erfcOf, {
    result: 'float',
    saved: ['self'],
    vjp: ({ self }, { grad }) => ({ self: () => neg(mul(grad, gaussian(self))) }),
  }),
);

/** 2/√π · exp(-x²), the derivative of erf. */
function gaussian(x: Tensor): Tensor {
  return mul(exp(neg(mul(x, x))), 2 / Math.sqrt(Math.PI));
}

function tanhBackward(grad: Tensor, output: Tensor): Tensor {
  return callOp(tanhBackwardOp, [grad, output]);
}

function sigmoidBackward(grad: Tensor, output: Tensor): Tensor {
  return callOp(sigmoidBackwardOp, [grad, output]);
}

/** Sine. */
export const sin: Unary = unaryFunction(sinOp);
/** self = sin(self) */
export const sin_: Unary = unaryFunction(defineInplace(sinOp));
/** Cosine. */
export const cos: Unary = unaryFunction(cosOp);
/** self = cos(self) */
export const cos_: Unary = unaryFunction(defineInplace(cosOp));
/** Tangent. */
export const tan: Unary = unaryFunction(tanOp);
/** self = tan(self) */
export const tan_: Unary = unaryFunction(defineInplace(tanOp));
/** Arc tangent. */
export const atan: Unary = unaryFunction(atanOp);
/** self = atan(self) */
export const atan_: Unary = unaryFunction(defineInplace(atanOp));
/** Hyperbolic tangent. */
export const tanh: Unary = unaryFunction(tanhOp);
/** self = tanh(self) */
export const tanh_: Unary = unaryFunction(defineInplace(tanhOp));
/** 1 / (1 + e⁻ˣ) */
export const sigmoid: Unary = unaryFunction(sigmoidOp);
/** self = sigmoid(self) */
export const sigmoid_: Unary = unaryFunction(defineInplace(sigmoidOp));
/** The error function. */
export const erf: Unary = unaryFunction(erfOp);
/** self = erf(self) */
export const erf_: Unary = unaryFunction(defineInplace(erfOp));
/** 1 - erf(x) */
export const erfc: Unary = unaryFunction(erfcOp);
/** self = 1 - erf(self) */
export const erfc_: Unary = unaryFunction(defineInplace(erfcOp));
