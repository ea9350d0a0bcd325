/**
 * @file Lowerings of activations with several results or operands: glu, log-sigmoid, prelu, shrinking.
 */
import { wrapDim } from '@tessera/tensor/internal';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { activation } from './activation.js';
import { broadcastOperands, operandArg, operandExpr, tensorArg } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import type { LoweringFn } from '../registry.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** `coords` with another index along a dimension. */
function at(coords: readonly IndexExpr[], dim: number, index: IndexExpr): IndexExpr[] {
  return coords.map((coord, d) => (d === dim ? index : coord));
}

const glu: LoweringOf<'aten::glu'> = (l, [x, dim], call) => {
  const d = wrapDim(Number(dim), x.shape.length, call.op);
  const coords = l.vars(call.shape);
  const m = new ExprMath(l.ir);
  const gate = x.load(at(coords, d, l.ir.add(coords[d]!, l.ir.size(call.shape[d]!))));
  return l.pointwise(call.shape, m.mul(x.load(coords), m.sigmoid(gate)));
};

/** The first half of the result is the gradient of the values, the second that of the gates. */
const gluBackward: LoweringOf<'aten::glu_backward'> = (l, [grad, x, dim], call) => {
  const d = wrapDim(Number(dim), x.shape.length, call.op);
  const half = grad.shape[d]!;
  const coords = l.vars(x.shape);
  const m = new ExprMath(l.ir);
  const position = l.ir.mod(coords[d]!, half);
  const g = grad.load(at(coords, d, position));
  const value = x.load(at(coords, d, position));
  const gate = m.sigmoid(x.load(at(coords, d, l.ir.add(position, l.ir.size(half)))));
  const isFirst = m.lt(l.ir.index('int32', coords[d]!), half);
  const forGate = m.mul(m.mul(value, gate), m.sub(1, gate));
  return l.pointwise(x.shape, m.mul(g, m.where(isFirst, gate, forGate)));
};

/** e^-|x|, which both the value and the backward op use. */
const logSigmoidForward: LoweringOf<'aten::log_sigmoid_forward'> = (l, [self], call) => {
  const x = tensorArg(self, call.op);
  const m = new ExprMath(l.ir);
  const decay = m.exp(m.neg(m.abs(x.expr)));
  return [
    l.pointwise(x.shape, m.sub(m.min(x.expr, 0), m.log1p(decay))),
    l.pointwise(x.shape, decay),
  ];
};

/** Several values of the same operands, broadcast. */
function results(
  l: Lowering,
  args: Parameters<LoweringFn>[1],
  call: Parameters<LoweringFn>[2],
  combine: (m: ExprMath, ...values: Expr[]) => Expr[],
): LoweredTensor[] {
  const operands = args.map((arg) => operandArg(arg, call.op));
  const sizes = broadcastOperands(operands, call.op);
  const values = operands.map((operand) => operandExpr(l, operand, sizes, call.dtype));
  return combine(new ExprMath(l.ir), ...values).map((value) => l.pointwise(sizes, value));
}

const preluBackward: LoweringOf<'aten::_prelu_kernel_backward'> = (l, args, call) =>
  results(l, args, call, (m, g, x, weight) => {
    const isPositive = m.gt(x!, 0);
    return [m.where(isPositive, g!, m.mul(weight!, g!)), m.where(isPositive, 0, m.mul(x!, g!))];
  });

/** Whether a value lies in the interval that shrinks to 0. */
function isShrunk(m: ExprMath, x: Expr, limit: Expr): Expr {
  return m.and(m.ge(x, m.neg(limit)), m.le(x, limit));
}

const shrinkBackward = activation(2, (m, [g, x], p) => m.where(isShrunk(m, x!, p(2)), 0, g!));

/** Lowerings by overload name. */
export const activationGateLowerings: LoweringTable = lowerings({
  'aten::glu': glu,
  'aten::glu_backward': gluBackward,
  'aten::log_sigmoid_forward': logSigmoidForward,
  'aten::log_sigmoid_backward': activation(3, (m, [g, x, decay]) => {
    const share = m.div(decay!, m.add(decay!, 1));
    return m.mul(g!, m.where(m.lt(x!, 0), m.sub(1, share), share));
  }),
  'aten::_prelu_kernel': activation(2, (m, [x, weight]) =>
    m.where(m.gt(x!, 0), x!, m.mul(weight!, x!)),
  ),
  'aten::_prelu_kernel_backward': preluBackward,
  'aten::hardshrink': activation(1, (m, [x], p) => m.where(isShrunk(m, x!, p(1)), 0, x!)),
  'aten::softshrink': activation(1, (m, [x], p) => {
    const outside = m.where(m.gt(x!, 0), m.sub(x!, p(1)), m.add(x!, p(1)));
    return m.where(isShrunk(m, x!, p(1)), 0, outside);
  }),
  'aten::hardshrink_backward': shrinkBackward,
  'aten::softshrink_backward': shrinkBackward,
  'aten::mish_backward': activation(2, (m, [g, x]) => {
    const softplus = m.where(m.gt(x!, 20), x!, m.log1p(m.exp(x!)));
    const t = m.tanh(softplus);
    const slope = m.mul(m.mul(x!, m.sigmoid(x!)), m.sub(1, m.square(t)));
    return m.mul(g!, m.add(t, slope));
  }),
});
