/**
 * @file Scatters as gathers: each element of the result looks for the sources that address it.
 *
 * That needs no atomics, gives the same sum every time, and costs (result × sources) comparisons: fine for small
 * scatters. Beyond that sources are put one after another (put-in-steps.ts), each by itself where stores combine
 * (put-combined.ts), or the reference kernel, which walks the sources once, takes over where there is one.
 */
import { affordable } from '../affordable.js';
import { readyOperand } from '../ready-operand.js';
import { type Size, sizeMul } from '@tessera/shared';
import { wrapDim } from '@tessera/tensor/internal';
import type { DType } from '@tessera/tensor';
import type { Expr, ReduceOp } from '../../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import { checkedIndex, checkedIndices, checkedPosition, position } from '../checked-value.js';
import { castTensor, tensorArg } from './elementwise.js';
import { ExprMath } from '../expr-math.js';
import { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { type Put, putInSteps, type Steps } from '../put-in-steps.js';
import { addCombined, combinedDtype, combinesFaster, lastCombined } from '../put-combined.js';
import { accumulateDtype, reducePlan } from '../reduce.js';
import { type LoweredArg, type LoweringFn, RuntimeScalar } from '../registry.js';
import { type Shape, isEmpty, isLarger, isSame, numelOf } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings, type Operand } from '../typed-lowering.js';

/** Sources that may address an element, and what they hold. */
export interface Sources {
  readonly inner: readonly SizedLoop[];
  /** Whether the source at (element, inner) addresses the element. */
  readonly hits: Expr;
  readonly value: Expr;
  /** Order number of the source, for "the last one wins". */
  readonly order: IndexExpr;
  /** Reads the value of source number `order`. */
  readonly valueAt: (order: IndexExpr) => Expr;
}

/**
 * Sources of a scatter along one dimension: index and src are indexed like self but for `dim`. If each result
 * looks at one source only, the index is checked there (else see `checkedIndices`).
 */
export function alongDim(
  l: Lowering,
  op: string,
  sizes: Shape,
  dim: number,
  index: LoweredTensor,
  src: (coords: readonly IndexExpr[]) => Expr,
): Sources {
  const vars = l.vars(sizes);
  const m = new ExprMath(l.ir);
  const source = l.freshVar('s', index.shape[dim]!);
  const at = (p: IndexExpr): IndexExpr[] =>
    vars.map((v, d) => (d === dim ? p : index.shape[d] === 1 ? l.ir.int(0) : v));
  let reachable: Expr = l.ir.const('bool', 1);
  vars.forEach((v, d) => {
    if (d !== dim && isLarger(sizes[d]!, index.shape[d]!))
      reachable = m.and(reachable, m.lt(l.ir.index('int32', v), index.shape[d]!));
  });
  const given = l.ir.masked(reachable, index.load(at(source.index)), 0);
  const target = index.shape[dim] === 1 ? checkedIndex(l, op, given, sizes[dim]!) : given;
  return {
    inner: source.vars,
    hits: m.and(reachable, m.eq(target, l.ir.index(target.dtype, vars[dim]!))),
    value: l.ir.masked(reachable, src(at(source.index)), 0),
    order: source.index,
    valueAt: (order) => l.ir.masked(reachable, src(at(order)), 0),
  };
}

/** Reduces hits over the sources. */
export function overSources(
  l: Lowering,
  sizes: Shape,
  sources: Sources,
  op: ReduceOp,
  value: Expr,
): LoweredTensor {
  const order = [...l.loopVars(sizes), ...sources.inner];
  return reducePlan(l, { op, dtype: value.dtype, sizes, inner: sources.inner, order, value })[0]!;
}

/** self with the sources put, or added in elements of `sum`, in steps; see put-in-steps.ts. */
export function inSteps(
  l: Lowering,
  self: LoweredTensor,
  { sum, coords, ...steps }: PlacedSteps & { readonly sum: DType | null },
  source: Expr,
  scale: LoweredArg = 1,
): LoweredTensor | null {
  const acc = sum ?? self.dtype;
  const m = new ExprMath(l.ir);
  const value = l.ir.cast(source, acc);
  const put = (old: Expr): Expr =>
    sum === null ? value : m.add(old, scaled(l, value, scale, self.dtype));
  const result = putInSteps(l, self, acc, steps, [{ coords, put }]);
  return result === null ? null : castTensor(l, result, self.dtype);
}

/** What sums are made in. Of bools, it is counted how many hold. */
function sumDtype(dtype: DType): DType {
  return dtype === 'bool' ? 'int32' : accumulateDtype(dtype);
}

/** What sums are made in whose running sum is an element of the result: of 16-bit floats it is rounded at each step. */
export function ownSum(dtype: DType): DType {
  return dtype === 'bool' ? 'int32' : dtype;
}

/** Times `scale` as `dtype` holds it: of bools, any number but 0 is 1. */
function scaled(l: Lowering, value: Expr, scale: LoweredArg, dtype: DType): Expr {
  if ((scale ?? 1) === 1) return value;
  const { ir } = l;
  const held =
    scale instanceof RuntimeScalar ? ir.cast(scale.expr, dtype) : ir.const(dtype, Number(scale));
  return new ExprMath(ir).mul(value, ir.cast(held, value.dtype));
}

/** self + Σ of the sources that address each element. */
export function accumulated(
  l: Lowering,
  self: LoweredTensor,
  sources: Sources,
  scale: LoweredArg,
): LoweredTensor {
  const acc = sumDtype(self.dtype);
  const m = new ExprMath(l.ir);
  const sum = overSources(
    l,
    self.shape,
    sources,
    'sum',
    m.where(sources.hits, l.ir.cast(sources.value, acc), 0),
  );
  const total = m.add(l.ir.cast(self.expr, acc), scaled(l, sum.expr, scale, self.dtype));
  return l.pointwise(self.shape, l.ir.cast(total, self.dtype));
}

/** The number of the last source that addresses each element, or -1. */
function lastOf(l: Lowering, sizes: Shape, sources: Sources): LoweredTensor {
  const number = l.ir.index('int32', sources.order);
  const m = new ExprMath(l.ir);
  const value = m.where(sources.hits, number, l.ir.const('int32', -1));
  return overSources(l, sizes, sources, 'max', value);
}

/** The last source that addresses each element, or self. */
export function replaced(
  l: Lowering,
  self: LoweredTensor,
  sources: Sources,
  last: LoweredTensor = lastOf(l, self.shape, sources),
): LoweredTensor {
  const m = new ExprMath(l.ir);
  const hit = m.ge(last.expr, 0);
  // Where the search is a kernel before, nothing else says that its result is a source.
  const source = position(l, last.expr, numelOf(sources.inner.map(({ size }) => size)));
  const value = l.ir.cast(sources.valueAt(source), self.dtype);
  return l.pointwise(self.shape, m.where(hit, value, self.expr));
}

/** Where sources that combine go, what they are, and the number of each among those that may have its place. */
interface CombinedSources extends Pick<PlacedSteps, 'sizes' | 'coords'> {
  readonly value: Expr;
  readonly number: IndexExpr;
}

/** self with the sources added, or put over what is there. */
export function withCombined(
  l: Lowering,
  self: LoweredTensor,
  sources: Sources,
  { sizes, coords, value, number }: CombinedSources,
  scale: LoweredArg | null,
): LoweredTensor {
  if (scale === null) {
    const named = { coords, value: l.ir.index('int32', number) };
    return replaced(l, self, sources, lastCombined(l, self.shape, sizes, named));
  }
  const term = scaled(l, l.ir.cast(value, combinedDtype(self.dtype)), scale, self.dtype);
  return addCombined(l, self, sizes, [{ coords, value: term }]);
}

/** Whether sources that combine are faster than looking at `each` of all; see put-combined.ts. */
export function isCombined(
  l: Lowering,
  self: LoweredTensor,
  each: Size,
  sources: Size,
  add: boolean,
): boolean {
  const dtype = add ? combinedDtype(self.dtype) : 'int32';
  return combinesFaster(l, numelOf(self.shape), each, sources, dtype);
}

/** src as a tensor or a number. */
export function sourceOf(
  l: Lowering,
  src: Operand,
  dtype: LoweredTensor['dtype'],
): (coords: readonly IndexExpr[]) => Expr {
  if (src instanceof LoweredTensor) return (coords) => src.load(coords);
  const value =
    src instanceof RuntimeScalar ? l.ir.cast(src.expr, dtype) : l.ir.const(dtype, Number(src));
  return () => value;
}

/** A 0-d tensor as one of one element. */
export function atLeast1d(x: LoweredTensor): LoweredTensor {
  return x.shape.length === 0 ? x.view([1], []) : x;
}

/** The result in the shape of the original, which may be 0-d. */
export function asBefore(l: Lowering, result: LoweredTensor, self: LoweredTensor): LoweredTensor {
  return self.shape.length === 0 ? result.view([], [l.ir.int(0)]) : result;
}

/** scatter.src, scatter.value, scatter_add: self, dim, index, src. */
function scatter(
  add: boolean,
): LoweringOf<'aten::scatter.src' | 'aten::scatter.value' | 'aten::scatter_add'> {
  return (l, [original, dim, index, operand], call) => {
    const x = atLeast1d(original);
    const indices = atLeast1d(readyOperand(l, index));
    if (isEmpty(indices.shape)) return original;
    const along = wrapDim(Number(dim), x.shape.length, call.op);
    const name = add ? 'scatter_add' : 'scatter';
    if (
      !affordable(l, numelOf(x.shape), indices.shape[along]!, numelOf(indices.shape), 'scatter')
    ) {
      const from = operand instanceof LoweredTensor ? atLeast1d(operand) : operand;
      const steps = {
        ...alongSteps(l, name, indices, along, x.shape[along]!),
        sum: add ? sumDtype(x.dtype) : null,
      };
      const source = sourceOf(l, from, x.dtype)(l.vars(indices.shape));
      const result = inSteps(l, x, steps, source);
      return result === null ? null : asBefore(l, result, original);
    }
    const from = operand instanceof LoweredTensor ? atLeast1d(readyOperand(l, operand)) : operand;
    const src = sourceOf(l, from, x.dtype);
    if (isCombined(l, x, indices.shape[along]!, numelOf(indices.shape), add)) {
      const places = alongSteps(l, name, indices, along, x.shape[along]!);
      const vars = l.vars(indices.shape);
      const given = { ...places, value: src(vars), number: vars[along]! };
      const sources = alongDim(l, name, x.shape, along, indices, src);
      return asBefore(l, withCombined(l, x, sources, given, add ? 1 : null), original);
    }
    const at = sourcePlaces(l, name, indices, along, x.shape[along]!);
    const sources = alongDim(l, name, x.shape, along, at, src);
    return asBefore(l, add ? accumulated(l, x, sources, 1) : replaced(l, x, sources), original);
  };
}

/** Sources, and where each goes. */
export type PlacedSteps = Steps & Pick<Put, 'coords'>;

/** Where the sources of a scatter along one dimension go. */
export function alongSteps(
  l: Lowering,
  op: string,
  indices: LoweredTensor,
  along: number,
  size: Size,
): PlacedSteps {
  const vars = l.vars(indices.shape);
  const place = checkedPosition(l, op, indices.load(vars), size);
  return {
    sizes: indices.shape,
    along: [along],
    coords: vars.map((v, d) => (d === along ? place : v)),
  };
}

/** The indices of a scatter; where each result looks at many of them, they are checked before. */
export function sourcePlaces(
  l: Lowering,
  op: string,
  indices: LoweredTensor,
  dim: number,
  size: Size,
): LoweredTensor {
  return indices.shape[dim] === 1 ? indices : checkedIndices(l, op, indices, size);
}

/** A one-dimensional index as one that is the same at every other coordinate. */
function indexAlong(l: Lowering, index: LoweredTensor, sizes: Shape, dim: number): LoweredTensor {
  const count = numelOf(index.shape);
  const wide = sizes.map((size, d) => (d === dim ? count : size));
  return index.view(wide, index.shape.length === 0 ? [] : [l.vars(wide)[dim]!]);
}

/** index_add (alpha) and index_copy: self, dim, index, source. */
function indexInto(add: boolean): LoweringFn {
  return (l, [self, dim, index, source, alpha], call) => {
    const original = tensorArg(self!, call.op);
    const x = atLeast1d(original);
    const along = wrapDim(Number(dim), x.shape.length, call.op);
    const indices = readyOperand(l, tensorArg(index!, call.op));
    const count = numelOf(indices.shape);
    if (isSame(count, 0)) return original;
    const wide = sizeMul(numelOf(x.shape.filter((_, d) => d !== along)), count);
    const name = add ? 'index_add' : 'index_copy';
    const given = tensorArg(source!, call.op);
    const sourceAt = (from: LoweredTensor, coords: readonly IndexExpr[]): Expr =>
      from.load(coords.map((coord, d) => (from.shape[d] === 1 ? l.ir.int(0) : coord)));
    if (!affordable(l, numelOf(x.shape), count, wide, 'scatter')) {
      const at = indexAlong(l, indices, x.shape, along);
      const steps = {
        ...alongSteps(l, name, at, along, x.shape[along]!),
        sum: add ? ownSum(x.dtype) : null,
      };
      const own = sourceAt(atLeast1d(given), l.vars(at.shape));
      const result = inSteps(l, x, steps, own, alpha);
      return result === null ? null : asBefore(l, result, original);
    }
    const from = atLeast1d(readyOperand(l, given));
    const src = (coords: readonly IndexExpr[]): Expr => sourceAt(from, coords);
    if (isCombined(l, x, count, wide, add)) {
      const at = indexAlong(l, indices, x.shape, along);
      const places = alongSteps(l, name, at, along, x.shape[along]!);
      const vars = l.vars(at.shape);
      const sources = alongDim(l, name, x.shape, along, at, src);
      const given = { ...places, value: src(vars), number: vars[along]! };
      return asBefore(l, withCombined(l, x, sources, given, add ? alpha : null), original);
    }
    const places = count === 1 ? indices : checkedIndices(l, name, indices, x.shape[along]!);
    const at = indexAlong(l, places, x.shape, along);
    const sources = alongDim(l, name, x.shape, along, at, src);
    return asBefore(l, add ? accumulated(l, x, sources, alpha) : replaced(l, x, sources), original);
  };
}

/** Lowerings by overload name; null results go to the reference kernel. */
export const scatterLowerings: LoweringTable = lowerings({
  'aten::scatter.src': scatter(false),
  'aten::scatter.value': scatter(false),
  'aten::scatter_add': scatter(true),
  'aten::index_add': indexInto(true),
  'aten::index_copy': indexInto(false),
});
