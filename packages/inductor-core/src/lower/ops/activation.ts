/**
 * @file Lowerings of activation functions and their backward formulas, as PyTorch defines them.
 */
import type { Expr } from '../../ir/expr.js';
import {
  elementwise,
  elementwiseWithNumbers,
  operandArg,
  operandExpr,
  tensorArg,
} from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import type { Lowering } from '../lowering.js';
import { type LoweredArg, type LoweringFn, RuntimeScalar } from '../registry.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

const SQRT_HALF = Math.SQRT1_2;
const SQRT_2_OVER_PI = Math.sqrt(2 / Math.PI);
const KAPPA = 0.044715;

/** A numeric parameter as an expression of the value's type. */
export function parameter(l: Lowering, arg: LoweredArg, like: Expr): Expr {
  return arg instanceof RuntimeScalar
    ? l.ir.cast(arg.expr, like.dtype)
    : l.ir.const(like.dtype, Number(arg));
}

/** A function of the first `count` tensor arguments; the rest are parameters. */
export function activation(
  count: number,
  combine: (
    m: ExprMath,
    tensors: readonly Expr[],
    parameters: (index: number) => Expr,
    args: readonly LoweredArg[],
  ) => Expr,
): LoweringFn {
  return (l, args, call) =>
    elementwiseWithNumbers(
      l,
      args.slice(0, count).map((arg) => operandArg(arg, call.op)),
      call.dtype,
      (...tensors) =>
        combine(
          new ExprMath(l.ir),
          tensors,
          (index) => parameter(l, args[index], tensors[0]!),
          args,
        ),
      call.op,
      args.slice(count).filter((arg) => arg instanceof RuntimeScalar),
    );
}

function gelu(m: ExprMath, x: Expr, tanh: boolean): Expr {
  if (!tanh) return m.mul(m.mul(x, 0.5), m.add(m.erf(m.mul(x, SQRT_HALF)), 1));
  return m.mul(m.mul(x, 0.5), m.add(m.tanh(geluInner(m, x)), 1));
}

function geluInner(m: ExprMath, x: Expr): Expr {
  return m.mul(m.add(x, m.mul(m.mul(m.square(x), x), KAPPA)), SQRT_2_OVER_PI);
}

function geluBackward(m: ExprMath, grad: Expr, x: Expr, tanh: boolean): Expr {
  if (!tanh) {
    const cdf = m.mul(m.add(m.erf(m.mul(x, SQRT_HALF)), 1), 0.5);
    const pdf = m.mul(m.exp(m.mul(m.square(x), -0.5)), 1 / Math.sqrt(2 * Math.PI));
    return m.mul(grad, m.add(cdf, m.mul(x, pdf)));
  }
  const t = m.tanh(geluInner(m, x));
  const left = m.mul(m.add(t, 1), 0.5);
  const slope = m.mul(m.add(m.mul(m.square(x), 3 * KAPPA), 1), SQRT_2_OVER_PI);
  const right = m.mul(m.mul(m.mul(x, 0.5), m.sub(1, m.square(t))), slope);
  return m.mul(grad, m.add(left, right));
}

/** grad where `keep`, else 0. */
function gated(m: ExprMath, keep: Expr, grad: Expr): Expr {
  return m.where(keep, grad, 0);
}

function softplus(m: ExprMath, x: Expr, beta: Expr, threshold: Expr): Expr {
  const scaled = m.mul(x, beta);
  return m.where(m.gt(scaled, threshold), x, m.div(m.log1p(m.exp(scaled)), beta));
}

const relu: LoweringOf<'aten::relu'> = (l, [self], call) =>
  elementwise(l, [tensorArg(self, call.op)], call.dtype, (x) => new ExprMath(l.ir).max(x, 0));

const thresholdBackward: LoweringOf<'aten::threshold_backward'> = (
  l,
  [grad, self, threshold],
  call,
) => {
  const g = tensorArg(grad, call.op);
  const x = tensorArg(self, call.op);
  const m = new ExprMath(l.ir);
  const value = operandExpr(l, x, call.shape, x.dtype);
  return l.pointwise(
    call.shape,
    m.where(
      m.le(value, parameter(l, threshold, value)),
      0,
      operandExpr(l, g, call.shape, call.dtype),
    ),
  );
};

/** Lowerings by overload name. */
export const activationLowerings: LoweringTable = lowerings({
  'aten::relu': relu,
  'aten::threshold_backward': thresholdBackward,
  'aten::threshold': activation(1, (m, [x], p) => m.where(m.le(x!, p(1)), p(2), x!)),
  'aten::sigmoid_backward': activation(2, (m, [g, y]) => m.mul(g!, m.mul(m.sub(1, y!), y!))),
  'aten::tanh_backward': activation(2, (m, [g, y]) => m.mul(g!, m.sub(1, m.square(y!)))),
  'aten::gelu': activation(1, (m, [x], _, args) => gelu(m, x!, args[1] === 'tanh')),
  'aten::gelu_backward': activation(2, (m, [g, x], _, args) =>
    geluBackward(m, g!, x!, args[2] === 'tanh'),
  ),
  'aten::silu': activation(1, (m, [x]) => m.mul(x!, m.sigmoid(x!))),
  'aten::silu_backward': activation(2, (m, [g, x]) => {
    const s = m.sigmoid(x!);
    return m.mul(g!, m.mul(s, m.add(m.mul(x!, m.sub(1, s)), 1)));
  }),
  'aten::leaky_relu': activation(1, (m, [x], p) => m.where(m.gt(x!, 0), x!, m.mul(x!, p(1)))),
  'aten::leaky_relu_backward': activation(2, (m, [g, x], p) =>
    m.where(m.gt(x!, 0), g!, m.mul(g!, p(2))),
  ),
  'aten::elu': activation(1, (m, [x], p) =>
    m.where(m.gt(x!, 0), m.mul(x!, p(2)), m.mul(m.expm1(m.mul(x!, p(3))), m.mul(p(1), p(2)))),
  ),
  'aten::elu_backward': (l, [grad, alpha, scale, inputScale, isResult, self], call) =>
    elementwise(l, [grad, self], call.dtype, (g, x) => {
      const m = new ExprMath(l.ir);
      const [a, s, i] = [alpha, scale, inputScale].map((arg) => parameter(l, arg, x));
      const negative =
        isResult === true
          ? m.mul(m.mul(g, i), m.add(x, m.mul(a, s)))
          : m.mul(m.mul(m.mul(g, i), m.mul(a, s)), m.exp(m.mul(x, i)));
      return m.where(m.le(x, 0), negative, m.mul(g, s));
    }),
  'aten::softplus': activation(1, (m, [x], p) => softplus(m, x!, p(1), p(2))),
  'aten::softplus_backward': activation(2, (m, [g, x], p) => {
    const z = m.exp(m.mul(x!, p(2)));
    return m.where(m.gt(m.mul(x!, p(2)), p(3)), g!, m.div(m.mul(g!, z), m.add(z, 1)));
  }),
  'aten::hardtanh': activation(1, (m, [x], p) => m.min(m.max(x!, p(1)), p(2))),
  'aten::hardtanh_backward': activation(2, (m, [g, x], p) =>
    m.where(m.or(m.le(x!, p(2)), m.ge(x!, p(3))), 0, g!),
  ),
  'aten::hardsigmoid': activation(1, (m, [x]) => m.div(m.min(m.max(m.add(x!, 3), 0), 6), 6)),
  'aten::hardsigmoid_backward': activation(2, (m, [g, x]) =>
    gated(m, m.and(m.gt(x!, -3), m.lt(x!, 3)), m.div(g!, 6)),
  ),
  'aten::hardswish': activation(1, (m, [x]) =>
    m.div(m.mul(x!, m.min(m.max(m.add(x!, 3), 0), 6)), 6),
  ),
  'aten::hardswish_backward': activation(2, (m, [g, x]) =>
    m.where(m.le(x!, -3), 0, m.where(m.ge(x!, 3), g!, m.mul(g!, m.add(m.div(x!, 3), 0.5)))),
  ),
  'aten::mish': activation(1, (m, [x]) =>
    m.mul(x!, m.tanh(softplus(m, x!, m.term(1, x!.dtype), m.term(20, x!.dtype)))),
  ),
});
