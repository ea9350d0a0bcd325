/**
 * @file Counts of elements by bins, and positions of elements that are not zero up to a given number.
 *
 * Where points of loops follow an order, elements are counted one after another, if there is nothing to refuse; other calls are
 * left to reference kernels. On devices without those each bin looks at the bin numbers of all elements. Ends of bins that
 * the elements decide cannot be refused before they are known: where eager code on the CPU would refuse them (NaN,
 * infinite), counts and ends are NaN.
 */
import type { DType } from '@tessera/tensor';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { position } from '../checked-value.js';
import { ExprMath } from '../expr-math.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { type LoweringCall, RuntimeScalar } from '../registry.js';
import { sumAtPlaces } from '../put-combined.js';
import { takesSteps } from '../put-in-steps.js';
import { isEmpty, numelOf } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';
import { reduceOver } from './distance.js';
import { castTensor } from './elementwise.js';
import { scanAlong } from './scan.js';
import { search } from './search.js';
import { delinearize } from './view-maps.js';

/** An end of the bins, as it is given. */
type End = number | boolean | RuntimeScalar;

/** A tensor as one row, in float32. */
function row(l: Lowering, tensor: LoweredTensor): LoweredTensor {
  const flat = [numelOf(tensor.shape)];
  const [i] = l.vars(flat);
  return castTensor(l, tensor, 'float32').view(flat, delinearize(l, i!, tensor.shape));
}

/** A number, in float32. */
function numberOf(l: Lowering, value: End, add = 0): Expr {
  return value instanceof RuntimeScalar
    ? new ExprMath(l.ir).add(l.ir.cast(value.expr, 'float32'), add)
    : l.ir.const('float32', Math.fround(Number(value) + add));
}

/** The ends of the outer bins: those given unless they are equal, else the least and the largest element. */
function outerEnds(l: Lowering, x: LoweredTensor, low: End, high: End): readonly Expr[] {
  const m = new ExprMath(l.ir);
  const given = [numberOf(l, low), numberOf(l, high)] as const;
  if (low instanceof RuntimeScalar || high instanceof RuntimeScalar) {
    // Which ends there are is known when it runs. Those in the wrong order, which are refused where they are numbers, give NaN.
    const found = foundEnds(l, x, low, high);
    const [isEqual, isOrdered] = [m.eq(...given), m.lt(...given)];
    return given.map((end, i) => m.where(isEqual, found[i]!, m.where(isOrdered, end, NaN)));
  }
  return Number(low) === Number(high) ? foundEnds(l, x, low, high) : given;
}

/** The least and the largest element; of none, the ends that are given moved apart. */
function foundEnds(l: Lowering, x: LoweredTensor, low: End, high: End): readonly Expr[] {
  const m = new ExprMath(l.ir);
  if (isEmpty(x.shape)) return [numberOf(l, low, -0.5), numberOf(l, high, 0.5)];
  const extreme = (op: 'min' | 'max'): Expr => {
    const found = l.pointwise(
      [1],
      reduceOver(l, op, [1], x.shape[0]!, (i) => x.load([i])),
    );
    found.realize();
    return found.load([l.ir.int(0)]);
  };
  const [least, most] = [extreme('min'), extreme('max')];
  const isOne = m.eq(least, most);
  const isFinite = m.and(m.gt(least, -Infinity), m.lt(most, Infinity));
  return [
    m.where(isFinite, m.where(isOne, m.sub(least, 0.5), least), NaN),
    m.where(isFinite, m.where(isOne, m.add(most, 0.5), most), NaN),
  ];
}

/** What lies in each bin: the number of elements or the sum of their weights; `bin` of those in no bin is -1. */
function filled(l: Lowering, bins: number, bin: LoweredTensor, weight: LoweredTensor | null): Expr {
  const m = new ExprMath(l.ir);
  const [i] = l.vars(bin.shape);
  const at = bin.load([i!]);
  const isThere = m.ge(at, 0);
  const dtype = weight === null ? 'int32' : 'float32';
  const value = weight === null ? m.cast(isThere, dtype) : m.where(isThere, weight.load([i!]), 0);
  const term = { coords: [position(l, m.max(at, 0), bins)], value };
  const steps = { sizes: bin.shape, along: [0] };
  const counts = sumAtPlaces(l, [bins], dtype, steps, [term]);
  if (counts !== null) return m.cast(counts.expr, 'float32');
  const [own] = l.vars([bins]);
  const sums = reduceOver(l, 'sum', [bins], bin.shape[0]!, (i) =>
    m.where(
      m.eq(bin.load([i]), l.ir.index('int32', own!)),
      weight === null ? l.ir.const('int32', 1) : weight.load([i]),
      0,
    ),
  );
  return m.cast(sums, 'float32');
}

/** The bins of elements, in memory; -1 for those beyond the ends. */
function placed(
  l: Lowering,
  x: LoweredTensor,
  [low, high]: readonly Expr[],
  bins: number,
  place: Expr,
): LoweredTensor {
  const m = new ExprMath(l.ir);
  const isInside = m.and(m.ge(x.expr, low!), m.le(x.expr, high!));
  const bin = l.pointwise(x.shape, m.where(isInside, m.min(place, bins - 1), -1));
  bin.realize();
  return bin;
}

/** self, bins, min, max. */
const histc: LoweringOf<'aten::histc'> = (l, [self, count, min, max], call) => {
  const isCounted = takesSteps(l) && isCountable(self.dtype, min, max);
  if (l.hasFallback && !isCounted) return null;
  const m = new ExprMath(l.ir);
  const bins = Number(count);
  const x = row(l, self);
  const ends = outerEnds(l, x, min, max);
  const [low, high] = ends;
  const share = m.div(m.sub(x.expr, low!), m.sub(high!, low!));
  const place = m.cast(m.floor(m.mul(share, bins)), 'int32');
  const counts = filled(l, bins, placed(l, x, ends, bins, place), null);
  const isKnown = m.not(m.isnan(m.add(low!, high!)));
  return l.pointwise(call.shape, m.cast(m.where(isKnown, counts, NaN), call.dtype));
};

/** Whether float32 is exact enough, and ends of bins are given that are not refused. */
function isCountable(dtype: DType, low: End, high: End): boolean {
  if (low instanceof RuntimeScalar || high instanceof RuntimeScalar) return false;
  const [from, to] = [Math.fround(Number(low)), Math.fround(Number(high))];
  return dtype === 'float32' && from < to && to - from < Infinity;
}

/** Edges of bins of equal width, from both ends, as linspace. */
function equalEdges(l: Lowering, bins: number, [low, high]: readonly Expr[]): LoweredTensor {
  const m = new ExprMath(l.ir);
  const [at] = l.vars([bins + 1]);
  const i = l.ir.index('int32', at!);
  const step = m.div(m.sub(high!, low!), bins);
  const isLower = m.lt(i, Math.floor((bins + 1) / 2));
  const before = m.mul(step, m.cast(m.where(isLower, i, m.sub(bins, i)), 'float32'));
  return l.pointwise([bins + 1], m.where(isLower, m.add(low!, before), m.sub(high!, before)));
}

/** Counts between ascending edges, or shares of the whole by the bins' widths. */
function histogramBetween(
  l: Lowering,
  x: LoweredTensor,
  edges: LoweredTensor,
  weight: LoweredTensor | null,
  isDensity: boolean,
  call: LoweringCall,
): LoweredTensor[] {
  const m = new ExprMath(l.ir);
  edges.realize();
  const bins = Number(edges.shape[0]) - 1;
  const ends = [0, bins].map((at) => edges.load([l.ir.int(at)]));
  const found = { ...call, shape: x.shape, dtype: 'int32' } as const;
  const place = m.sub(search(l, edges, x, true, null, found)!.expr, 1);
  const bin = placed(l, x, ends, bins, place);
  const counts = l.pointwise([bins], filled(l, bins, bin, weight));
  const [at] = l.vars([bins]);
  let result = counts.expr;
  if (isDensity) {
    counts.realize();
    const total = l.pointwise(
      [1],
      reduceOver(l, 'sum', [1], bins, (i) => counts.load([i])),
    );
    total.realize();
    const width = m.sub(edges.load([l.ir.add(at!, l.ir.int(1))]), edges.load([at!]));
    result = m.div(m.div(counts.load([at!]), total.load([l.ir.int(0)])), width);
  }
  const isKnown = m.not(m.isnan(m.add(ends[0]!, ends[1]!)));
  return [
    l.pointwise([bins], m.cast(m.where(isKnown, result, NaN), call.dtype)),
    castTensor(l, edges, call.dtype),
  ];
}

/** self, bins, range, weight, density. */
const histogram: LoweringOf<'aten::histogram.bin_ct'> = (
  l,
  [self, count, range, weight, density],
  call,
) => {
  if (l.hasFallback) return null;
  const x = row(l, self);
  const [low, high] = (range ?? [0, isEmpty(x.shape) ? 1 : 0]).map(Number);
  const edges = equalEdges(l, Number(count), outerEnds(l, x, low!, high!));
  const weights = weight === null ? null : row(l, weight);
  return histogramBetween(l, x, edges, weights, density === true, call);
};

/** self, bins, weight, density. */
const histogramOfEdges: LoweringOf<'aten::histogram.bins_tensor'> = (
  l,
  [self, bins, weight, density],
  call,
) => {
  if (l.hasFallback) return null;
  const weights = weight === null ? null : row(l, weight);
  return histogramBetween(l, row(l, self), row(l, bins), weights, density === true, call);
};

/** self, size, fill_value: the n-th of those that are not zero is where as many have been counted. */
const nonzeroStatic: LoweringOf<'aten::nonzero_static'> = (l, [self, , fill], call) => {
  if (l.hasFallback) return null;
  const m = new ExprMath(l.ir);
  const rest = l.ir.const('int64', Number(fill));
  if (isEmpty(self.shape) || isEmpty(call.shape)) return l.pointwise(call.shape, rest);
  const flat = [numelOf(self.shape)];
  const [i] = l.vars(flat);
  const hits = l.pointwise(self.shape, m.cast(m.ne(self.expr, 0), 'int32'));
  const counted = scanAlong(l, 'sum', hits.view(flat, delinearize(l, i!, self.shape)), 0);
  if (!counted.isRealized) counted.realize();
  const [n, d] = l.vars(call.shape);
  const rows = { ...call, shape: [call.shape[0]!], dtype: 'int32' } as const;
  const number = l.pointwise(rows.shape, l.ir.index('int32', l.vars(rows.shape)[0]!));
  const places = search(l, counted, number, true, null, rows)!;
  places.realize();
  const place = places.load([n!]);
  const at: readonly IndexExpr[] = delinearize(l, position(l, place, flat[0]!), self.shape);
  const column = l.ir.index('int32', d!);
  const coordinate = at
    .map((index) => l.ir.index('int32', index))
    .reduceRight((others, own, k) => m.where(m.eq(column, k), own, others));
  return l.pointwise(call.shape, m.where(m.lt(place, flat[0]!), m.cast(coordinate, 'int64'), rest));
};

/** Lowerings by overload name. */
export const histogramLowerings: LoweringTable = lowerings({
  'aten::histc': histc,
  'aten::histogram.bin_ct': histogram,
  'aten::histogram.bins_tensor': histogramOfEdges,
  'aten::nonzero_static': nonzeroStatic,
});
