/**
 * @file Softmax family: decomposed into a maximum, a sum of exponentials and a pointwise value. The
 * kernel emitter turns the first two into one `online_softmax` pass where they meet in a kernel.
 */
import { wrapDim } from '@tessera/tensor/internal';
import type { Expr } from '../../ir/expr.js';
import { castTensor } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { accumulateDtype, reduce } from '../reduce.js';
import type { Shape } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** A reduced value (dimension kept as 1) at every element along `dim`. */
export function alongDim(l: Lowering, reduced: LoweredTensor, sizes: Shape, dim: number): Expr {
  return reduced.load(l.vars(sizes).map((v, d) => (d === dim ? l.ir.int(0) : v)));
}

function softmax(log: boolean): LoweringOf<'aten::_softmax' | 'aten::_log_softmax'> {
  return (l, [source, dim], call) => {
    const rank = source.shape.length;
    const at = wrapDim(Number(dim), rank, call.op);
    const dims = rank === 0 ? [] : [at];
    const x = castTensor(l, source, accumulateDtype(call.dtype));
    const m = new ExprMath(l.ir);
    const [peak] = reduce(l, 'max', x, dims, true);
    const shifted = m.sub(x.expr, alongDim(l, peak!, x.shape, at));
    const [total] = reduce(l, 'sum', l.pointwise(x.shape, m.exp(shifted)), dims, true);
    const sum = alongDim(l, total!, x.shape, at);
    const value = log ? m.sub(shifted, m.log(sum)) : m.div(m.exp(shifted), sum);
    return l.pointwise(x.shape, m.cast(value, call.dtype));
  };
}

/** softmax: y (g - Σ g y); log_softmax: g - exp(y) Σ g. */
function softmaxBackward(
  log: boolean,
): LoweringOf<'aten::_softmax_backward_data' | 'aten::_log_softmax_backward_data'> {
  return (l, [grad, output, dim], call) => {
    const acc = accumulateDtype(call.dtype);
    const g = castTensor(l, grad, acc);
    const y = castTensor(l, output, acc);
    const at = wrapDim(Number(dim), g.shape.length, call.op);
    const dims = g.shape.length === 0 ? [] : [at];
    const m = new ExprMath(l.ir);
    const weighted = log ? g.expr : m.mul(g.expr, y.expr);
    const [total] = reduce(l, 'sum', l.pointwise(g.shape, weighted), dims, true);
    const sum = alongDim(l, total!, g.shape, at);
    const value = log
      ? m.sub(g.expr, m.mul(m.exp(y.expr), sum))
      : m.sub(weighted, m.mul(y.expr, sum));
    return l.pointwise(g.shape, m.cast(value, call.dtype));
  };
}

/** Decompositions by overload name. */
export const softmaxDecompositions: LoweringTable = lowerings({
  'aten::_softmax': softmax(false),
  'aten::_log_softmax': softmax(true),
  'aten::_softmax_backward_data': softmaxBackward(false),
  'aten::_log_softmax_backward_data': softmaxBackward(true),
});
