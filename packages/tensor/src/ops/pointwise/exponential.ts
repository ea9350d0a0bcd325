/**
 * @file Exponentials, logarithms, roots and reciprocals.
 */
import { unary } from '../../kernels/pointwise-kernel.js';
import { defineInplace } from '../../op/inplace.js';
import { type Unary, unaryFunction } from '../../op/op-functions.js';
import { defineOp } from '../../op/op-overload.js';
import { div } from './division.js';
import { add, mul, neg } from './arithmetic.js';

const expOp = defineOp(
  'aten::exp(Tensor self) -> Tensor',
  unary(Math.exp, {
    result: 'float',
    saved: ['out'],
    vjp: (_args, { grad, out }) => ({ self: () => mul(grad, out) }),
  }),
);
const exp2Op = defineOp(
  'aten::exp2(Tensor self) -> Tensor',
  unary((x) => 2 ** x, {
    result: 'float',
    saved: ['out'],
    vjp: (_args, { grad, out }) => ({ self: () => mul(mul(grad, out), Math.LN2) }),
  }),
);
const expm1Op = defineOp(
  'aten::expm1(Tensor self) -> Tensor',
  unary(Math.expm1, {
    result: 'float',
    saved: ['out'],
    vjp: (_args, { grad, out }) => ({ self: () => mul(grad, add(out, 1)) }),
  }),
);
const logOp = defineOp(
  'aten::log(Tensor self) -> Tensor',
  unary(Math.log, {
    result: 'float',
    saved: ['self'],
    vjp: ({ self }, { grad }) => ({ self: () => div(grad, self) }),
  }),
);
const log2Op = defineOp(
  'aten::log2(Tensor self) -> Tensor',
  unary(Math.log2, {
    result: 'float',
    saved: ['self'],
    vjp: ({ self }, { grad }) => ({ self: () => div(grad, mul(self, Math.LN2)) }),
  }),
);
const log10Op = defineOp(
  'aten::log10(Tensor self) -> Tensor',
  unary(Math.log10, {
    result: 'float',
    saved: ['self'],
    vjp: ({ self }, { grad }) => ({ self: () => div(grad, mul(self, Math.LN10)) }),
  }),
);
const log1pOp = defineOp(
  'aten::log1p(Tensor self) -> Tensor',
  unary(Math.log1p, {
    result: 'float',
    saved: ['self'],
    vjp: ({ self }, { grad }) => ({ self: () => div(grad, add(self, 1)) }),
  }),
);
const sqrtOp = defineOp(
  'aten::sqrt(Tensor self) -> Tensor',
  unary(Math.sqrt, {
    result: 'float',
    saved: ['out'],
    vjp: (_args, { grad, out }) => ({ self: () => div(grad, mul(out, 2)) }),
  }),
);
const rsqrtOp = defineOp(
  'aten::rsqrt(Tensor self) -> Tensor',
  unary((x) => 1 / Math.sqrt(x), {
    result: 'float',
    saved: ['out'],
    vjp: (_args, { grad, out }) => ({ self: () => mul(mul(grad, mul(mul(out, out), out)), -0.5) }),
  }),
);
const reciprocalOp = defineOp(
  'aten::reciprocal(Tensor self) -> Tensor',
  unary((x) => 1 / x, {
    result: 'float',
    saved: ['out'],
    vjp: (_args, { grad, out }) => ({ self: () => neg(mul(grad, mul(out, out))) }),
  }),
);

/** eˣ */
export const exp: Unary = unaryFunction(expOp);
/** self = eˣ */
export const exp_: Unary = unaryFunction(defineInplace(expOp));
/** 2ˣ */
export const exp2: Unary = unaryFunction(exp2Op);
/** self = 2ˣ */
export const exp2_: Unary = unaryFunction(defineInplace(exp2Op));
/** eˣ - 1, accurate near 0. */
export const expm1: Unary = unaryFunction(expm1Op);
/** self = eˣ - 1 */
export const expm1_: Unary = unaryFunction(defineInplace(expm1Op));
/** Natural logarithm. */
export const log: Unary = unaryFunction(logOp);
/** self = log(self) */
export const log_: Unary = unaryFunction(defineInplace(logOp));
/** Logarithm to base 2. */
export const log2: Unary = unaryFunction(log2Op);
/** self = log2(self) */
export const log2_: Unary = unaryFunction(defineInplace(log2Op));
/** Logarithm to base 10. */
export const log10: Unary = unaryFunction(log10Op);
/** self = log10(self) */
export const log10_: Unary = unaryFunction(defineInplace(log10Op));
/** log(1 + x), accurate near 0. */
export const log1p: Unary = unaryFunction(log1pOp);
/** self = log(1 + self) */
export const log1p_: Unary = unaryFunction(defineInplace(log1pOp));
/** Square root. */
export const sqrt: Unary = unaryFunction(sqrtOp);
/** self = √self */
export const sqrt_: Unary = unaryFunction(defineInplace(sqrtOp));
/** 1 / √x */
export const rsqrt: Unary = unaryFunction(rsqrtOp);
/** self = 1 / √self */
export const rsqrt_: Unary = unaryFunction(defineInplace(rsqrtOp));
/** 1 / x */
export const reciprocal: Unary = unaryFunction(reciprocalOp);
/** self = 1 / self */
export const reciprocal_: Unary = unaryFunction(defineInplace(reciprocalOp));
