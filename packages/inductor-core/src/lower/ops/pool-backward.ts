/**
 * @file Gradients of pooling, as gathers: every input element sums the windows that cover it, so no
 * element is written twice and no atomics are needed.
 */
import { within } from '../within.js';
import { numelOf } from '@tessera/tensor/internal';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { adaptiveEnd, adaptiveStart, mostCovering } from './adaptive-avg-pool.js';
import { digits } from './contract.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { UNROLLED_WINDOW, type Window, windowDivisor, windowOf } from './pool.js';
import { accumulateDtype, reducePlan } from '../reduce.js';
import { type Shape, isNumbers } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** A window position that may cover an input element. */
interface Candidate {
  /** Window coordinates; valid only where `exists`. */
  readonly out: IndexExpr[];
  readonly exists: Expr;
}

/** Σ over candidates of `term`, written out or as a reduction. */
export function sumOver(
  l: Lowering,
  sizes: Shape,
  counts: Shape,
  term: (step: readonly IndexExpr[]) => Expr,
): Expr {
  const m = new ExprMath(l.ir);
  if (isNumbers(counts) && numelOf(counts) <= UNROLLED_WINDOW)
    return Array.from({ length: numelOf(counts) }, (_, i) => term(digits(l, i, counts))).reduce(
      (a, b) => m.add(a, b),
    );
  const steps = counts.map((size, s) => l.freshVar(`w${s}`, size));
  const inner = steps.flatMap((step) => step.vars);
  const value = term(steps.map((step) => step.index));
  return reducePlan(l, {
    op: 'sum',
    dtype: value.dtype,
    sizes,
    inner,
    order: [...l.loopVars(sizes), ...inner],
    value,
  })[0]!.expr;
}

/** The `step`-th window, counted down from the last that may cover the element at `vars`. */
function candidate(
  l: Lowering,
  vars: readonly IndexExpr[],
  lead: number,
  window: Window,
  outSizes: Shape,
  step: readonly IndexExpr[],
): Candidate {
  let exists: Expr = l.ir.const('bool', 1);
  const out = vars.map((v, d) => {
    if (d < lead) return v;
    const s = d - lead;
    const last = l.ir.div(l.ir.add(v, l.ir.int(window.padding[s]!)), window.stride[s]!);
    const position = l.ir.sub(last, step[s]!);
    exists = l.ir.op('and', [exists, within(l, position, 0, outSizes[d]!)]);
    return outSizes[d] === 1 ? l.ir.int(0) : position;
  });
  return { out, exists };
}

/** Windows per dimension that may cover one element. */
function covering(window: Window): number[] {
  return window.kernel.map((size, s) =>
    Math.ceil((window.dilation[s]! * (size - 1) + 1) / window.stride[s]!),
  );
}

/** Arguments: grad_output, self, kernel, stride, padding, dilation, ceil_mode, indices. */
function maxPoolBackward(
  spatial: number,
): LoweringOf<'aten::max_pool2d_with_indices_backward' | 'aten::max_pool3d_with_indices_backward'> {
  return (l, [grad, x, kernel, stride, padding, dilation, , indices], call) => {
    const g = ready(l, grad);
    const places = ready(l, indices);
    const window = windowOf(spatial, kernel, stride, padding, dilation);
    const lead = x.shape.length - spatial;
    const vars = l.vars(x.shape);
    const own = vars
      .slice(lead)
      .reduce((flat, v, s) => l.ir.add(l.ir.scale(flat, x.shape[lead + s]!), v), l.ir.int(0));
    const acc = accumulateDtype(g.dtype);
    const total = sumOver(l, x.shape, covering(window), (step) => {
      const { out, exists } = candidate(l, vars, lead, window, g.shape, step);
      const chosen = l.ir.op('eq', [places.load(out), l.ir.index('int64', own)]);
      const value = l.ir.op('where', [chosen, l.ir.cast(g.load(out), acc), l.ir.const(acc, 0)]);
      return l.ir.masked(exists, value, 0);
    });
    return l.pointwise(x.shape, l.ir.cast(total, call.dtype));
  };
}

/** Gives memory to a value that is costly to read many times. */
export function ready(l: Lowering, x: LoweredTensor): LoweredTensor {
  if (!x.isRealized && (l.costOf(x.expr).expensive || l.costOf(x.expr).loads > 1)) x.realize();
  return x;
}

/** Arguments: grad_output, self, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override. */
function avgPoolBackward(
  spatial: number,
): LoweringOf<'aten::avg_pool2d_backward' | 'aten::avg_pool3d_backward'> {
  return (l, [grad, x, kernel, stride, padding, , countPadding, override], call) => {
    const g = ready(l, grad);
    const window = windowOf(spatial, kernel, stride, padding);
    const lead = x.shape.length - spatial;
    const vars = l.vars(x.shape);
    const acc = accumulateDtype(g.dtype);
    const m = new ExprMath(l.ir);
    const divisor = {
      countPadding: countPadding !== false,
      override: override == null ? null : Number(override),
    };
    const total = sumOver(l, x.shape, covering(window), (step) => {
      const { out, exists } = candidate(l, vars, lead, window, g.shape, step);
      let covers = exists;
      out.slice(lead).forEach((o, s) => {
        const start = l.ir.add(l.ir.scale(o, window.stride[s]!), l.ir.int(-window.padding[s]!));
        covers = m.and(covers, within(l, l.ir.sub(vars[lead + s]!, start), 0, window.kernel[s]!));
      });
      const count = l.ir.cast(
        windowDivisor(l, window, x.shape.slice(lead), out.slice(lead), divisor),
        acc,
      );
      return l.ir.masked(covers, m.div(l.ir.cast(g.load(out), acc), count), 0);
    });
    return l.pointwise(x.shape, l.ir.cast(total, call.dtype));
  };
}

/** Arguments: grad_output, self. Windows that cover element i are those with start <= i < end. */
function adaptiveBackward(
  spatial: number,
): LoweringOf<'aten::_adaptive_avg_pool2d_backward' | 'aten::_adaptive_avg_pool3d_backward'> {
  return (l, [grad, x], call) => {
    const g = ready(l, grad);
    const lead = x.shape.length - spatial;
    const input = x.shape.slice(lead);
    const output = g.shape.slice(lead);
    if (output.includes(0)) return l.pointwise(x.shape, l.ir.const(call.dtype, 0));
    const vars = l.vars(x.shape);
    const acc = accumulateDtype(g.dtype);
    const m = new ExprMath(l.ir);
    const counts = input.map((size, s) => mostCovering(size, output[s]!));
    const total = sumOver(l, x.shape, counts, (step) => {
      let covers: Expr = l.ir.const('bool', 1);
      let count: Expr = l.ir.const('int32', 1);
      const out = vars.map((v, d) => {
        if (d < lead) return v;
        const s = d - lead;
        const o = l.ir.add(l.ir.div(l.ir.scale(v, output[s]!), input[s]!), step[s]!);
        const start = l.ir.index('int32', adaptiveStart(l, o, input[s]!, output[s]!));
        const end = l.ir.index('int32', adaptiveEnd(l, o, input[s]!, output[s]!));
        const at = l.ir.index('int32', v);
        covers = m.and(
          covers,
          m.and(within(l, o, 0, output[s]!), m.and(m.ge(at, start), m.lt(at, end))),
        );
        count = m.mul(count, m.sub(end, start));
        return output[s] === 1 ? l.ir.int(0) : o;
      });
      return l.ir.masked(covers, m.div(l.ir.cast(g.load(out), acc), m.cast(count, acc)), 0);
    });
    return l.pointwise(x.shape, l.ir.cast(total, call.dtype));
  };
}

/** Lowerings by overload name. */
export const poolBackwardLowerings: LoweringTable = lowerings({
  'aten::max_pool2d_with_indices_backward': maxPoolBackward(2),
  'aten::max_pool3d_with_indices_backward': maxPoolBackward(3),
  'aten::avg_pool2d_backward': avgPoolBackward(2),
  'aten::avg_pool3d_backward': avgPoolBackward(3),
  'aten::_adaptive_avg_pool2d_backward': adaptiveBackward(2),
  'aten::_adaptive_avg_pool3d_backward': adaptiveBackward(3),
});
