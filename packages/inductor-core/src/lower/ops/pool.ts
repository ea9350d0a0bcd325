/**
 * @file Pooling over windows, forward. Small windows are written out as one expression, which fuses
 * and vectorises; large ones are reductions over masked loads.
 */
import { within } from '../within.js';
import { sizeAdd, sizeKnown } from '@tessera/shared';
import { isFloatingPoint } from '@tessera/tensor';
import { numelOf } from '@tessera/tensor/internal';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { digits } from './contract.js';
import { intList, type IntListArg } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { accumulateDtype, reducePlan } from '../reduce.js';
import type { Shape } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** Largest window that is written out. */
export const UNROLLED_WINDOW = 25;

/** A costly element is computed at most this often rather than stored: as for windows of 3 × 3 at every other one. */
const MOST_TIMES = 2.25;

/** Window parameters per spatial dimension. */
export interface Window {
  readonly kernel: readonly number[];
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly dilation: readonly number[];
}

/** Reads a window; an empty stride means the kernel's size. */
export function windowOf(
  spatial: number,
  kernel: IntListArg,
  stride: IntListArg,
  padding: IntListArg,
  dilation: IntListArg = 1,
): Window {
  const size = intList(kernel, spatial);
  const step = intList(stride, spatial);
  return {
    kernel: size,
    stride: step.length === 0 ? size : step,
    padding: intList(padding, spatial),
    dilation: intList(dilation, spatial),
  };
}

/** Input positions of a tap of the windows at `out`, and whether they exist. */
function tapAt(
  l: Lowering,
  x: LoweredTensor,
  lead: number,
  window: Window,
  out: readonly IndexExpr[],
  tap: readonly IndexExpr[],
): { readonly coords: IndexExpr[]; readonly inside: Expr } {
  const coords = out.map((v, d) => {
    if (d < lead) return v;
    const s = d - lead;
    return l.ir.add(
      l.ir.scale(v, window.stride[s]!),
      l.ir.scale(tap[s]!, window.dilation[s]!),
      l.ir.int(-window.padding[s]!),
    );
  });
  const inside = coords
    .slice(lead)
    .map((coord, s) => within(l, coord, 0, x.shape[lead + s]!))
    .reduce((a, b) => l.ir.op('and', [a, b]));
  return { coords: coords.map((coord, d) => (x.shape[d] === 1 ? l.ir.int(0) : coord)), inside };
}

/** Flat position within the spatial dimensions. */
export function flatPosition(l: Lowering, coords: readonly IndexExpr[], sizes: Shape): IndexExpr {
  let flat: IndexExpr = l.ir.int(0);
  coords.forEach((coord, d) => {
    flat = l.ir.add(l.ir.scale(flat, sizes[d]!), coord);
  });
  return flat;
}

/** Windows that overlap read an element several times: then a costly one gets memory. */
function keepForTaps(l: Lowering, x: LoweredTensor, { kernel, stride }: Window): void {
  const times = numelOf(kernel) / numelOf(kernel.map((size, s) => Math.min(size, stride[s]!)));
  if (!x.isRealized && times > MOST_TIMES && l.costOf(x.expr).expensive) x.realize();
}

/** Values and flat indices of the maxima of windows. */
export function maxPool(
  spatial: number,
): LoweringOf<
  | 'aten::max_pool1d_with_indices'
  | 'aten::max_pool2d_with_indices'
  | 'aten::max_pool3d_with_indices'
> {
  return (l, [x, kernel, stride, padding, dilation], call) => {
    const window = windowOf(spatial, kernel, stride, padding, dilation);
    const lead = x.shape.length - spatial;
    keepForTaps(l, x, window);
    if (numelOf(window.kernel) > UNROLLED_WINDOW)
      return maxPoolByReduction(l, x, window, lead, call.shape);
    const vars = l.vars(call.shape);
    const m = new ExprMath(l.ir);
    const lowest = isFloatingPoint(x.dtype) ? -Infinity : -(2 ** 31);
    let best: Expr | null = null;
    let place: Expr | null = null;
    for (let i = 0; i < numelOf(window.kernel); i++) {
      const { coords, inside } = tapAt(l, x, lead, window, vars, digits(l, i, window.kernel));
      const value = l.ir.masked(inside, x.load(coords), lowest);
      const index = l.ir.index('int64', flatPosition(l, coords.slice(lead), x.shape.slice(lead)));
      if (best === null || place === null) {
        [best, place] = [value, index];
        continue;
      }
      // A later tap wins only if larger, or NaN, or if nothing before it existed.
      const wins = m.or(m.gt(value, best), m.isnan(value));
      const absent = m.and(inside, m.lt(place, 0));
      place = m.where(m.or(wins, absent), index, place);
      best = m.max(best, value);
    }
    return [l.pointwise(call.shape, best!), l.pointwise(call.shape, place!)];
  };
}

function maxPoolByReduction(
  l: Lowering,
  x: LoweredTensor,
  window: Window,
  lead: number,
  sizes: Shape,
): LoweredTensor[] {
  const taps = window.kernel.map((size, s) => l.freshVar(`w${s}`, size));
  const inner = taps.flatMap((tap) => tap.vars);
  const { coords, inside } = tapAt(
    l,
    x,
    lead,
    window,
    l.vars(sizes),
    taps.map((tap) => tap.index),
  );
  const value = l.ir.masked(
    inside,
    x.load(coords),
    isFloatingPoint(x.dtype) ? -Infinity : -(2 ** 31),
  );
  const order = [...l.loopVars(sizes), ...inner];
  const plan = { dtype: x.dtype, sizes, inner, order, value };
  const [best] = reducePlan(l, { ...plan, op: 'max' });
  const [winner] = reducePlan(l, { ...plan, op: 'argmax' });
  const tap = l.ir.value(winner!.expr);
  let below = numelOf(window.kernel);
  const digitsOf = window.kernel.map((size) => {
    below /= size;
    return l.ir.mod(l.ir.div(tap, below), size);
  });
  const at = tapAt(l, x, lead, window, l.vars(sizes), digitsOf).coords.slice(lead);
  return [best!, l.pointwise(sizes, l.ir.index('int64', flatPosition(l, at, x.shape.slice(lead))))];
}

/** How an average counts the elements of a window. */
interface Divisor {
  readonly countPadding: boolean;
  readonly override: number | null;
}

/** Number by which the window at `out` divides. */
export function windowDivisor(
  l: Lowering,
  window: Window,
  sizes: Shape,
  out: readonly IndexExpr[],
  divisor: Divisor,
): Expr {
  if (divisor.override !== null) return l.ir.const('int32', divisor.override);
  const m = new ExprMath(l.ir);
  return window.kernel
    .map((kernel, s) => {
      const start = l.ir.add(l.ir.scale(out[s]!, window.stride[s]!), l.ir.int(-window.padding[s]!));
      const first = l.ir.bounds(start);
      const padded = sizeAdd(sizes[s]!, window.padding[s]!);
      const limit = divisor.countPadding ? padded : sizes[s]!;
      const isWhole =
        Number.isFinite(first.hi) && sizeKnown(first.hi + kernel, '<=', limit) === true;
      if (isWhole && (divisor.countPadding || first.lo >= 0)) return l.ir.const('int32', kernel);
      const from = l.ir.index('int32', start);
      const end = m.min(l.ir.index('int32', l.ir.add(start, l.ir.int(kernel))), padded);
      if (divisor.countPadding) return m.sub(end, from);
      return m.sub(m.min(end, sizes[s]!), m.max(from, 0));
    })
    .reduce((a, b) => m.mul(a, b));
}

/** Arguments: self, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override. */
function avgPool(
  spatial: number,
): LoweringOf<'aten::avg_pool1d' | 'aten::avg_pool2d' | 'aten::avg_pool3d'> {
  return (l, [x, kernel, stride, padding, , countPadding, ...rest], call) => {
    const [override] = rest;
    return averaged(l, x, windowOf(spatial, kernel, stride, padding), call.shape, {
      countPadding: countPadding !== false,
      override: override == null ? null : Number(override),
    });
  };
}

/** The averages of windows. */
export function averaged(
  l: Lowering,
  x: LoweredTensor,
  window: Window,
  sizes: Shape,
  divisor: Divisor,
): LoweredTensor {
  const lead = x.shape.length - window.kernel.length;
  const acc = accumulateDtype(x.dtype);
  const m = new ExprMath(l.ir);
  const vars = l.vars(sizes);
  keepForTaps(l, x, window);
  const at = (tap: readonly IndexExpr[]): Expr => {
    const { coords, inside } = tapAt(l, x, lead, window, vars, tap);
    return l.ir.masked(inside, l.ir.cast(x.load(coords), acc), 0);
  };
  let total: Expr;
  if (numelOf(window.kernel) <= UNROLLED_WINDOW) {
    total = Array.from({ length: numelOf(window.kernel) }, (_, i) =>
      at(digits(l, i, window.kernel)),
    ).reduce((a, b) => m.add(a, b));
  } else {
    const taps = window.kernel.map((size, s) => l.freshVar(`w${s}`, size));
    const inner = taps.flatMap((tap) => tap.vars);
    total = reducePlan(l, {
      op: 'sum',
      dtype: acc,
      sizes,
      inner,
      order: [...l.loopVars(sizes), ...inner],
      value: at(taps.map((tap) => tap.index)),
    })[0]!.expr;
  }
  const count = l.ir.cast(
    windowDivisor(l, window, x.shape.slice(lead), vars.slice(lead), divisor),
    acc,
  );
  return l.pointwise(
    sizes,
    m.cast(l.ir.op(isFloatingPoint(acc) ? 'div' : 'truncdiv', [total, count]), x.dtype),
  );
}

/** Lowerings by overload name. */
export const poolLowerings: LoweringTable = lowerings({
  'aten::max_pool1d_with_indices': maxPool(1),
  'aten::max_pool2d_with_indices': maxPool(2),
  'aten::max_pool3d_with_indices': maxPool(3),
  'aten::avg_pool1d': avgPool(1),
  'aten::avg_pool2d': avgPool(2),
  'aten::avg_pool3d': avgPool(3),
});
