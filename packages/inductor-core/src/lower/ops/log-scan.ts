/**
 * @file Running logarithms of sums of exponentials, and what their derivatives are made of.
 *
 * Neither is a running sum in one scale: what an element counts for depends on all before it. Each position joins
 * what it has with what the position 1, 2, 4, … before it has, until that lies outside of the row: a logarithm of the
 * length many passes, in each of which all positions are independent.
 * @see Hillis and Steele, "Data parallel algorithms"
 */
import type { Size } from '@tessera/shared';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { readyOperand } from '../ready-operand.js';
import { accumulateDtype } from '../reduce.js';
import type { RuntimeScalar } from '../registry.js';
import { isLarger } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';
import { within } from '../within.js';
import { castTensor } from './elementwise.js';
import { dimsOf } from './reduction.js';

/** How positions of a row are joined. */
interface Joining {
  /** The dimension along which they are. */
  readonly at: number;
  /** Whether with those behind, not those before. */
  readonly fromEnd: boolean;
  /** What joins of the value that the position at `coords` has. */
  readonly part: (value: Expr, coords: readonly IndexExpr[]) => Expr;
  /** What joins where there is none. */
  readonly outside: number;
  readonly join: (own: Expr, other: Expr) => Expr;
}

/**
 * Passes for a row. Ones of many lengths have as many as any of them needs, three at a time, so that a few regions of
 * lengths have code; a pass too many joins nothing.
 */
function passesFor(length: Size): number {
  if (typeof length === 'number') return Math.ceil(Math.log2(Math.max(length, 1)));
  let passes = 3;
  while (isLarger(length, 2 ** passes)) passes += 3;
  return passes;
}

/** Each position joined with all on one side of it. */
function doubled(l: Lowering, values: LoweredTensor, spec: Joining): LoweredTensor {
  const sizes = values.shape;
  const vars = l.vars(sizes);
  const length = sizes.includes(0) ? 0 : (sizes[spec.at] ?? 1);
  let held = values;
  for (let pass = passesFor(length), step = 1; pass > 0; pass--, step *= 2) {
    held.realize();
    const place = l.ir.add(vars[spec.at]!, l.ir.int(spec.fromEnd ? step : -step));
    const coords = vars.map((v, d) => (d === spec.at ? place : v));
    const other = spec.part(held.load(coords), coords);
    const joined = l.ir.masked(within(l, place, 0, length), other, spec.outside);
    held = l.pointwise(sizes, spec.join(held.expr, joined));
  }
  return held;
}

function dimOf(dim: number | RuntimeScalar, x: LoweredTensor, op: string): number {
  return x.shape.length === 0 ? 0 : dimsOf(dim, x.shape.length, op)[0]!;
}

/** self, dim. */
const logcumsumexp: LoweringOf<'aten::logcumsumexp'> = (l, [x, dim], call) => {
  const m = new ExprMath(l.ir);
  const values = castTensor(l, x, accumulateDtype(call.dtype));
  const sums = doubled(l, values, {
    at: dimOf(dim, x, call.op),
    fromEnd: false,
    part: (value) => value,
    outside: -Infinity,
    join: (a, b) => {
      const top = m.max(a, b);
      const more = m.log1p(m.exp(m.sub(m.min(a, b), top)));
      return m.where(m.eq(m.abs(top), Infinity), top, m.add(top, more));
    },
  });
  return castTensor(l, sums, call.dtype);
};

/** weight, self, out, dim, from_end: see the operator. */
const weighted: LoweringOf<'tessera::logcumsumexp_weighted'> = (
  l,
  [weight, self, out, dim, fromEnd],
  call,
) => {
  const m = new ExprMath(l.ir);
  const acc = accumulateDtype(call.dtype);
  const [w, x] = [castTensor(l, weight, acc), castTensor(l, self, acc)];
  const reached = castTensor(l, readyOperand(l, out), acc);
  // e^(a - b), 1 where both are the same infinity.
  const share = (a: Expr, b: Expr): Expr => m.where(m.eq(a, b), 1, m.exp(m.sub(a, b)));
  const own = m.exp(m.sub(x.expr, reached.expr));
  const terms = fromEnd === true ? w : l.pointwise(call.shape, m.mul(own, w.expr));
  const sums = doubled(l, terms, {
    at: dimOf(dim, out, call.op),
    fromEnd: fromEnd === true,
    part: (value, coords) => {
      const [here, there] = [reached.expr, reached.load(coords)];
      return m.mul(value, fromEnd === true ? share(here, there) : share(there, here));
    },
    outside: 0,
    join: (a, b) => m.add(a, b),
  });
  const result = fromEnd === true ? m.mul(own, sums.expr) : sums.expr;
  return l.pointwise(call.shape, m.cast(result, call.dtype));
};

/** Lowerings by overload name. */
export const logScanLowerings: LoweringTable = lowerings({
  'aten::logcumsumexp': logcumsumexp,
  'tessera::logcumsumexp_weighted': weighted,
});
