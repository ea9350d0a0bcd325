/**
 * @file Padding from the inside and resizing: each output element is a few input elements with weights,
 * along each dimension alone. Gradients are gathers: every input element sums the outputs that read it.
 */
import type { Size } from '@tessera/shared';
import { within } from '../within.js';
import type { DType } from '@tessera/tensor';
import type { TapTable } from '@tessera/tensor/internal';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { ready, sumOver } from './pool-backward.js';
import { accumulateDtype } from '../reduce.js';
import type { LoweringCall } from '../registry.js';

/** One input element that an output element reads; no weight means 1. */
export interface TapExpr {
  readonly at: IndexExpr;
  readonly weight: Expr | null;
}

/** One dimension of a resampling. */
export interface Axis {
  readonly input: Size;
  readonly output: Size;
  /** What output element `o` reads. */
  readonly taps: (o: IndexExpr) => TapExpr[];
  /** Which outputs may read an input element: `count` of them, from `first` on. */
  readonly readers: () => { readonly first: (i: IndexExpr) => IndexExpr; readonly count: Size };
}

function coord(l: Lowering, size: Size, at: IndexExpr): IndexExpr {
  return size === 1 ? l.ir.int(0) : at;
}

/** Reads `self` through the axes of its last dimensions. */
export function resampled(
  l: Lowering,
  self: LoweredTensor,
  axes: readonly Axis[],
  call: LoweringCall,
): LoweredTensor {
  const x = ready(l, self);
  const m = new ExprMath(l.ir);
  const vars = l.vars(call.shape);
  const lead = vars.length - axes.length;
  const acc = accumulateDtype(call.dtype);
  const taps = axes.map((axis, s) => axis.taps(vars[lead + s]!));
  const read = (s: number, coords: readonly IndexExpr[]): Expr => {
    if (s === axes.length) {
      const value = x.load(coords);
      return taps.every((list) => list.length === 1) ? value : l.ir.cast(value, acc);
    }
    return taps[s]!.map(({ at, weight }) => {
      const value = read(s + 1, [...coords, coord(l, axes[s]!.input, at)]);
      return weight === null ? value : m.mul(value, weight);
    }).reduce((a, b) => m.add(a, b));
  };
  return l.pointwise(call.shape, l.ir.cast(read(0, vars.slice(0, lead)), call.dtype));
}

/**
 * Where the elements are that element `t` has to do with: `floor(t · from / to) - before` and `count - 1` more. Of
 * outputs these are the inputs that they read; backward, of inputs the outputs that may read them.
 */
export function reach(
  {
    input,
    output,
    table,
  }: { readonly input: number; readonly output: number; readonly table: TapTable },
  backward: boolean,
): { before: number; count: number } {
  let before = 0;
  let after = 0;
  table.forEach(({ at }, o) => {
    for (const i of at) {
      const offset = backward
        ? o - Math.floor((i * output) / input)
        : i - Math.floor((o * input) / output);
      before = Math.max(before, -offset);
      after = Math.max(after, offset);
    }
  });
  return { before, count: before + after + 1 };
}

/** Σ over the outputs that read each input element; `call.shape` is the input's. */
export function resampledBackward(
  l: Lowering,
  gradient: LoweredTensor,
  axes: readonly Axis[],
  call: LoweringCall,
): LoweredTensor {
  const g = ready(l, gradient);
  const m = new ExprMath(l.ir);
  const vars = l.vars(call.shape);
  const lead = vars.length - axes.length;
  const acc = accumulateDtype(g.dtype);
  const readers = axes.map((axis) => axis.readers());
  const counts = readers.map(({ count }) => count);
  const total = sumOver(l, call.shape, counts, (step) => {
    let exists: Expr = l.ir.const('bool', 1);
    let weight: Expr = l.ir.const(acc, 1);
    const coords = axes.map((axis, s) => {
      const v = vars[lead + s]!;
      const o = l.ir.add(readers[s]!.first(v), step[s]!);
      exists = m.and(exists, within(l, o, 0, axis.output));
      const own = l.ir.index('int32', v);
      const share = axis
        .taps(o)
        .map((tap) => {
          const hit = m.eq(l.ir.index('int32', tap.at), own);
          return m.where(hit, tap.weight ?? l.ir.const(acc, 1), 0);
        })
        .reduce((a, b) => m.add(a, b));
      weight = m.mul(weight, share);
      return coord(l, axis.output, o);
    });
    const value = l.ir.cast(g.load([...vars.slice(0, lead), ...coords]), acc);
    // Not a product where the weight is 0: an infinite gradient elsewhere must not become NaN here.
    return l.ir.masked(exists, m.where(m.eq(weight, 0), 0, m.mul(value, weight)), 0);
  });
  return l.pointwise(call.shape, l.ir.cast(total, call.dtype));
}

/** A whole number held in an integer expression, between two limits, as an index. */
export function clampedIndex(l: Lowering, value: Expr, low: Size, high: Size): IndexExpr {
  const m = new ExprMath(l.ir);
  return l.ir.value(m.min(m.max(l.ir.cast(value, 'int32'), low), high));
}

/** Type in which positions of a tensor's elements are computed. */
export function positionDtype(dtype: DType): DType {
  return dtype === 'float64' ? 'float64' : 'float32';
}
