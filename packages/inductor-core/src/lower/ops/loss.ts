/**
 * @file Losses and their gradients. `reduction` is 0 (none), 1 (mean) or 2 (sum), as in ATen.
 */
import type { Size } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { checkedLabel, checkedProbability, checkedRead } from '../checked-value.js';
import { elementwise, operandArg } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { accumulateDtype, reduce } from '../reduce.js';
import type { LoweredArg, LoweringFn } from '../registry.js';
import { numelOf } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** Where a target's class lives: dimension 1, or 0 for a single sample. */
function classDim(rank: number): number {
  return rank === 1 ? 0 : 1;
}

interface NllPoint {
  /** Class of the sample, safe to index with. */
  readonly label: IndexExpr;
  /** Whether the sample counts. */
  readonly counts: Expr;
  /** Weight of the sample's class, or 1. */
  readonly weight: Expr;
}

/** The target at `coords` of the samples. */
function nllPoint(
  l: Lowering,
  target: LoweredTensor,
  weight: LoweredArg,
  ignore: number,
  classes: Size,
  coords: readonly IndexExpr[],
  dtype: DType,
): NllPoint {
  const { place: label, counts } = checkedLabel(
    l,
    'nll_loss',
    target.load(coords),
    classes,
    ignore,
  );
  return {
    label,
    counts,
    weight:
      weight instanceof LoweredTensor
        ? l.ir.cast(weight.load([label]), dtype)
        : l.ir.const(dtype, 1),
  };
}

/** nll_loss_forward and nll_loss2d_forward: self, target, weight, reduction, ignore_index. */
const nllForward: LoweringOf<'aten::nll_loss_forward' | 'aten::nll_loss2d_forward'> = (
  l,
  [x, labels, weight, reduction, ignoreIndex],
  call,
) => {
  const acc = accumulateDtype(x.dtype);
  const m = new ExprMath(l.ir);
  const dim = classDim(x.shape.length);
  const coords = l.vars(labels.shape);
  const point = nllPoint(l, labels, weight, Number(ignoreIndex), x.shape[dim]!, coords, acc);
  const at = [...coords];
  at.splice(dim, 0, point.label);
  const logarithm = checkedRead(l, x.load(at), [point.label]);
  const loss = l.pointwise(
    labels.shape,
    m.where(point.counts, m.neg(m.mul(l.ir.cast(logarithm, acc), point.weight)), 0),
  );
  if (reduction === 0 && x.shape.length > 1)
    return [
      l.pointwise(call.shape, m.cast(loss.expr, call.dtype)),
      l.pointwise([], l.ir.const(x.dtype, 0)),
    ];
  const all = labels.shape.map((_, d) => d);
  const [sum] = reduce(l, 'sum', loss, all, false);
  const [total] = reduce(
    l,
    'sum',
    l.pointwise(labels.shape, m.where(point.counts, point.weight, 0)),
    all,
    false,
  );
  const result = reduction === 1 ? m.div(sum!.expr, total!.expr) : sum!.expr;
  return [
    l.pointwise([], m.cast(result, call.dtype)),
    l.pointwise([], m.cast(total!.expr, x.dtype)),
  ];
};

/** -weight · grad at the label, 0 elsewhere. */
const nllBackward: LoweringOf<'aten::nll_loss_backward' | 'aten::nll_loss2d_backward'> = (
  l,
  [g, x, labels, weight, reduction, ignoreIndex, totalWeight],
  call,
) => {
  const acc = accumulateDtype(x.dtype);
  const m = new ExprMath(l.ir);
  const dim = classDim(x.shape.length);
  const vars = l.vars(x.shape);
  const coords = vars.filter((_, d) => d !== dim).slice(0, labels.shape.length);
  const point = nllPoint(l, labels, weight, Number(ignoreIndex), x.shape[dim]!, coords, acc);
  const perSample = reduction === 0 && x.shape.length > 1;
  let scale = l.ir.cast(g.load(perSample ? coords : []), acc);
  if (reduction === 1) scale = m.div(scale, l.ir.cast(totalWeight.load([]), acc));
  const label = m.cast(labels.load(coords), 'int64');
  const isLabel = m.and(point.counts, m.eq(l.ir.index('int64', vars[dim]!), label));
  return l.pointwise(
    x.shape,
    m.cast(m.where(isLabel, m.neg(m.mul(scale, point.weight)), 0), call.dtype),
  );
};

/** Applies the reduction of an elementwise loss. */
function reduced(
  l: Lowering,
  loss: LoweredTensor,
  reduction: LoweredArg,
  dtype: DType,
): LoweredTensor {
  if (reduction === 0) return loss;
  const acc = accumulateDtype(dtype);
  const [sum] = reduce(
    l,
    'sum',
    loss,
    loss.shape.map((_, d) => d),
    false,
    acc,
  );
  const count = numelOf(loss.shape);
  const value =
    reduction === 1 ? l.ir.op('div', [sum!.expr, l.ir.sizeValue(acc, count)]) : sum!.expr;
  return l.pointwise([], l.ir.cast(value, dtype));
}

/** A loss of self and target; further arguments through `args`. */
function elementwiseLoss(
  reductionAt: number,
  formula: (m: ExprMath, x: Expr, y: Expr, args: readonly LoweredArg[]) => Expr,
): LoweringFn {
  return (l, args, call) => {
    const operands = [operandArg(args[0]!, call.op), operandArg(args[1]!, call.op)];
    const loss = elementwise(
      l,
      operands,
      call.dtype,
      (x, y) => formula(new ExprMath(l.ir), x, y, args),
      call.op,
    );
    return reduced(l, loss, args[reductionAt], call.dtype);
  };
}

/** Its gradient: grad_output, self, target, … with the mean's factor applied. */
function elementwiseLossBackward(
  reductionAt: number,
  formula: (m: ExprMath, x: Expr, y: Expr, args: readonly LoweredArg[]) => Expr,
): LoweringFn {
  return (l, args, call) => {
    const operands = [args[0]!, args[1]!, args[2]!].map((arg) => operandArg(arg, call.op));
    return elementwise(
      l,
      operands,
      call.dtype,
      (grad, x, y) => {
        const m = new ExprMath(l.ir);
        const slope = m.mul(grad, formula(m, x, y, args));
        return args[reductionAt] === 1 ? m.div(slope, numelOf(call.shape)) : slope;
      },
      call.op,
    );
  };
}

function huber(m: ExprMath, x: Expr, y: Expr, delta: number): Expr {
  const distance = m.abs(m.sub(x, y));
  return m.where(
    m.lt(distance, delta),
    m.mul(m.square(distance), 0.5),
    m.mul(m.sub(distance, 0.5 * delta), delta),
  );
}

function huberSlope(m: ExprMath, x: Expr, y: Expr, delta: number): Expr {
  return m.min(m.max(m.sub(x, y), -delta), delta);
}

/** Logarithms are limited to -100, so that a wrong certainty costs much but not everything. */
const binaryCrossEntropy: LoweringOf<'aten::binary_cross_entropy'> = (
  l,
  [self, target, weight, reduction],
  call,
) => {
  const operands = [self, target, ...(weight instanceof LoweredTensor ? [weight] : [])];
  const loss = elementwise(
    l,
    operands,
    call.dtype,
    (input, labels, w) => {
      const m = new ExprMath(l.ir);
      const x = checkedProbability(l, 'binary_cross_entropy', 'input', input);
      const y = checkedProbability(l, 'binary_cross_entropy', 'target', labels);
      const value = m.sub(
        m.mul(m.sub(y, 1), m.max(m.log1p(m.neg(x)), -100)),
        m.mul(y, m.max(m.log(x), -100)),
      );
      return w === undefined ? value : m.mul(value, w);
    },
    call.op,
  );
  return reduced(l, loss, reduction, call.dtype);
};

const bceWithLogits: LoweringOf<'aten::binary_cross_entropy_with_logits'> = (
  l,
  [self, target, weight, posWeight, reduction],
  call,
) => {
  const operands = [self, target];
  if (weight instanceof LoweredTensor) operands.push(weight);
  if (posWeight instanceof LoweredTensor) operands.push(posWeight);
  const loss = elementwise(
    l,
    operands,
    call.dtype,
    (x, y, ...rest) => {
      const m = new ExprMath(l.ir);
      const w = weight instanceof LoweredTensor ? rest.shift()! : null;
      const p = rest[0];
      // max(-x, 0) + log1p(exp(-|x|)) is log(1 + exp(-x)) without overflow.
      const soft = m.add(m.log1p(m.exp(m.neg(m.abs(x)))), m.max(m.neg(x), 0));
      const value = m.add(
        m.mul(m.sub(1, y), x),
        p === undefined ? soft : m.mul(m.add(m.mul(m.sub(p, 1), y), 1), soft),
      );
      return w === null ? value : m.mul(value, w);
    },
    call.op,
  );
  return reduced(l, loss, reduction, call.dtype);
};

/** Lowerings by overload name. */
export const lossDecompositions: LoweringTable = lowerings({
  'aten::nll_loss_forward': nllForward,
  'aten::nll_loss2d_forward': nllForward,
  'aten::nll_loss_backward': nllBackward,
  'aten::nll_loss2d_backward': nllBackward,
  'aten::mse_loss': elementwiseLoss(2, (m, x, y) => m.square(m.sub(x, y))),
  'aten::mse_loss_backward': elementwiseLossBackward(3, (m, x, y) => m.mul(m.sub(x, y), 2)),
  'aten::l1_loss': elementwiseLoss(2, (m, x, y) => m.abs(m.sub(x, y))),
  'aten::huber_loss': elementwiseLoss(2, (m, x, y, args) => huber(m, x, y, Number(args[3]))),
  'aten::huber_loss_backward': elementwiseLossBackward(3, (m, x, y, args) =>
    huberSlope(m, x, y, Number(args[4])),
  ),
  'aten::smooth_l1_loss': elementwiseLoss(2, (m, x, y, args) =>
    Number(args[3]) === 0
      ? m.abs(m.sub(x, y))
      : m.div(huber(m, x, y, Number(args[3])), Number(args[3])),
  ),
  'aten::smooth_l1_loss_backward': elementwiseLossBackward(3, (m, x, y, args) =>
    Number(args[4]) === 0
      ? m.ir.op('sign', [m.sub(x, y)])
      : m.div(huberSlope(m, x, y, Number(args[4])), Number(args[4])),
  ),
  'aten::binary_cross_entropy': binaryCrossEntropy,
  'aten::binary_cross_entropy_with_logits': bceWithLogits,
});
