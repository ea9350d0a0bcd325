/**
 * @file Draws of categories by weight, for devices without a reference kernel, by its rules: without
 * replacement the order in which exponential clocks ring, with it the place of a uniform number in the running sum.
 *
 * Weights cannot be refused before they are known there. A row that eager would refuse gives -2³¹, which on
 * such a device is no int64 at all and cannot be read back.
 */
import { sizeSub } from '@tessera/shared';
import { numelOf } from '@tessera/tensor/internal';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { castTensor } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import { orderOf, overRow, type Rows } from './order.js';
import { draw } from './random.js';
import { scanAlong } from './scan.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

const NO_CATEGORY = -(2 ** 31);

/** self, num_samples, replacement. */
const multinomial: LoweringOf<'aten::multinomial'> = (l, [self, count, replacement], call) => {
  const weights = castTensor(l, self, 'float32');
  if (l.hasFallback || numelOf(weights.sizes) === 0) return null;
  weights.realize();
  const at = weights.sizes.length - 1;
  const rows: Rows = { l, x: weights, at, length: weights.sizes[at]! };
  const drawn =
    replacement === true && Number(count) > 1
      ? withReplacement(rows, call.sizes)
      : withoutReplacement(rows, call.sizes);
  drawn.realize();
  const vars = l.vars(call.sizes);
  const m = new ExprMath(l.ir);
  const row = [...vars.slice(0, -1), l.ir.int(0)];
  const isRefused = refused(rows).load(row);
  return l.pointwise(
    call.sizes,
    m.where(isRefused, l.ir.const('int64', NO_CATEGORY), m.cast(drawn.load(vars), 'int64')),
  );
};

/** One value for each row, computed of its elements. */
function ofRows(
  rows: Rows,
  op: 'sum' | 'max' | 'any',
  value: (weight: Expr, j: IndexExpr) => Expr,
): LoweredTensor {
  const { x, at } = rows;
  const sizes = x.sizes.map((size, d) => (d === at ? 1 : size));
  const result = overRow(rows, sizes, op, (j, vars) => value(x.load([...vars.slice(0, at), j]), j));
  result.realize();
  return result;
}

/** Rows with a weight that is negative, infinite or NaN, or with none above zero. */
function refused(rows: Rows): LoweredTensor {
  const { l } = rows;
  const m = new ExprMath(l.ir);
  const bad = ofRows(rows, 'any', (w) => m.not(m.and(m.ge(w, 0), m.lt(w, Infinity))));
  const some = ofRows(rows, 'any', (w) => m.gt(w, 0));
  return l.pointwise(bad.sizes, m.or(bad.expr, m.not(some.expr)));
}

/** The categories in the order in which their clocks ring; those without weight never do and come last. */
function withoutReplacement(rows: Rows, sizes: readonly number[]): LoweredTensor {
  const { l, x, at } = rows;
  const m = new ExprMath(l.ir);
  const largest = ofRows(rows, 'max', (w) => w);
  const share = m.div(x.expr, largest.load([...l.vars(x.sizes).slice(0, at), l.ir.int(0)]));
  const wait = m.neg(l.ir.op('log1p', [m.neg(draw(l, 'uniform', x.sizes))]));
  const rings = l.pointwise(x.sizes, m.where(m.gt(x.expr, 0), m.div(wait, share), Infinity));
  rings.realize();
  return orderOf({ ...rows, x: rings }, false, sizes);
}

/** How many running sums a uniform part of the whole reaches, at most the last category with a weight. */
function withReplacement(rows: Rows, sizes: readonly number[]): LoweredTensor {
  const { l, x, at, length } = rows;
  const m = new ExprMath(l.ir);
  const running = scanAlong(l, 'sum', x, at);
  if (!running.isRealized) running.realize();
  const last = ofRows(rows, 'max', (w, j) => m.where(m.gt(w, 0), l.ir.index('int32', j), 0));
  const parts = l.pointwise(sizes, draw(l, 'uniform', sizes));
  parts.realize();
  const passed = overRow(rows, sizes, 'sum', (j, vars) => {
    const lead = vars.slice(0, at);
    const total = running.load([...lead, l.ir.size(sizeSub(length, 1))]);
    return m.cast(m.le(running.load([...lead, j]), m.mul(parts.load(vars), total)), 'int32');
  });
  const vars = l.vars(sizes);
  return l.pointwise(sizes, m.min(passed.expr, last.load([...vars.slice(0, at), l.ir.int(0)])));
}

/** Lowerings by overload name. */
export const multinomialLowerings: LoweringTable = lowerings({
  'aten::multinomial': multinomial,
});
