/**
 * @file What a scatter writes, and where: for scatters that become stores into the memory of what they write to.
 *
 * A place outside of the memory is refused as elsewhere (checked-value.ts). Because some devices only note what failed
 * and go on, what lies at the place that is written instead keeps its value. Of several sources for one place the last
 * one wins, whoever stores first: all store what the last one has.
 */
import { diagonalOf } from './view-rearrange.js';
import { type Argument, Node, tensorVal } from '@tessera/graph';
import { broadcastShapes } from '@tessera/tensor';
import { numelOf, wrapDim } from '@tessera/tensor/internal';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { affordable } from '../affordable.js';
import { IndexedPlaces } from '../indexed-places.js';
import type { IrBuffer } from '../ir-node.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { type LoweredArg, type LoweringCall, registeredLowering } from '../registry.js';
import { type Shape, broadcastSizes } from '../shape-math.js';
import { indexedSizes } from './index-put.js';
import { sourceOf } from './scatter.js';
import { expandTensor, selectTensor, sizeArg, sliceStart, sliceTensor } from './view-maps.js';
import type { LoweredArgs, KnownOperator } from '../typed-lowering.js';
import { operatorOf } from '../node-uses.js';

/** See the file header: the element at the canonical variables of `sizes` goes to `coords` of `buffer`. */
export interface PlacedPart {
  readonly buffer: IrBuffer;
  readonly coords: readonly IndexExpr[];
  readonly sizes: Shape;
  readonly value: Expr;
}

type PlacementOf<Op extends string> = (
  l: Lowering,
  target: LoweredTensor,
  args: LoweredArgs<Op>,
  call: LoweringCall,
) => PlacedPart;

/** The same by name: arguments were checked against the schema. */
type Placement = {
  place(
    l: Lowering,
    target: LoweredTensor,
    args: readonly LoweredArg[],
    call: LoweringCall,
  ): PlacedPart;
}['place'];

/** The part that a view of the target shows. */
function shown(l: Lowering, view: LoweredTensor, source: LoweredTensor): PlacedPart {
  const { buffer, coords } = view.placeOf(l.vars(source.shape))!;
  return { buffer, coords, sizes: source.shape, value: source.expr };
}

const slice: PlacementOf<'aten::slice_scatter'> = (
  l,
  target,
  [, source, dim, start, , step],
  call,
) => {
  const at = wrapDim(Number(dim ?? 0), target.shape.length, call.op);
  const from = sliceStart(target.shape[at]!, start);
  const view = sliceTensor(l, target, at, from, source.shape[at]!, Number(step ?? 1));
  return shown(l, view, source);
};

const select: PlacementOf<'aten::select_scatter'> = (l, target, [, src, dim, index], call) => {
  const at = wrapDim(Number(dim), target.shape.length, call.op);
  return shown(l, selectTensor(l, target, at, sizeArg(index)), src);
};

const diagonal: PlacementOf<'aten::diagonal_scatter'> = (
  l,
  target,
  [, source, offset, dim1, dim2],
  call,
) => shown(l, diagonalOf(l, target, [offset, dim1, dim2], source.shape, call.op), source);

/** A part at indices: what lies at a place that was refused is stored again. */
function indexed(
  l: Lowering,
  target: LoweredTensor,
  coords: readonly IndexExpr[],
  sizes: Shape,
  put: Expr,
  isInside: Expr | null,
): PlacedPart {
  const at = target.placeOf(coords)!;
  const value = l.ir.cast(put, target.dtype);
  if (isInside === null) return { ...at, sizes, value };
  const old = l.loadBuffer(at.buffer, at.coords);
  return { ...at, sizes, value: l.ir.op('where', [isInside, value, old]) };
}

/** index_copy: self, dim, index, source. */
const indexCopy: PlacementOf<'aten::index_copy'> = (l, target, [, dim, named, from], call) => {
  const at = wrapDim(Number(dim), target.shape.length, call.op);
  const list = named.shape.length === 0 ? named.view([1], []) : named;
  const along = [{ index: list, size: target.shape[at]! }];
  const rules = { op: 'index_copy', wraps: false, isSafe: false };
  const places = new IndexedPlaces(l, list.shape, 0, along, rules);
  const vars = l.vars(from.shape);
  const own = [vars[at]!];
  const put = (v: IndexExpr[], place: IndexExpr): IndexExpr[] =>
    v.map((coord, d) => (d === at ? place : coord));
  const coords = put([...vars], places.at(own)[0]!);
  const value = from.load(put([...vars], places.last(own)[0]!));
  return indexed(l, target, coords, from.shape, value, places.isInside(own));
};

/** scatter.src and scatter.value: self, dim, index, src. */
const scatter: PlacementOf<'aten::scatter.src' | 'aten::scatter.value'> = (
  l,
  target,
  [, dim, named, src],
  call,
) => {
  const at = wrapDim(Number(dim), target.shape.length, call.op);
  const along = [{ index: named, size: target.shape[at]! }];
  const rules = { op: 'scatter', wraps: false, isSafe: false };
  const places = new IndexedPlaces(l, named.shape, at, along, rules);
  const vars = l.vars(named.shape);
  const [place] = places.at(vars);
  const value = sourceOf(l, src, target.dtype)(places.last(vars));
  const coords = vars.map((v, d) => (d === at ? place! : v));
  return indexed(l, target, coords, named.shape, value, places.isInside(vars));
};

/** index_put: self, indices, values. */
const indexPut: PlacementOf<'aten::index_put'> = (l, target, [, indices, source]) => {
  const sizes = indexedSizes(target.sizes, indices);
  const { shape, start, dims } = sharedIndex(indices);
  const given = dims.map((d) => ({
    index: expandTensor(l, indices[d]!, shape),
    size: target.shape[d]!,
  }));
  const along = Math.max(
    0,
    shape.findIndex((size) => size !== 1),
  );
  const places = new IndexedPlaces(l, shape, along, given, {
    op: 'index',
    wraps: true,
    isSafe: false,
  });
  const vars = l.vars(sizes);
  const own = vars.slice(start, start + shape.length);
  const others = [...vars.slice(0, start), ...vars.slice(start + shape.length)];
  const named = places.at(own);
  const coords = target.shape.map((_, d) => (dims.includes(d) ? named : others).shift()!);
  const from = [...vars.slice(0, start), ...places.last(own), ...vars.slice(start + shape.length)];
  const lead = sizes.length - source.shape.length;
  const value = source.load(
    source.shape.map((size, d) => (size === 1 ? l.ir.int(0) : from[d + lead]!)),
  );
  return indexed(l, target, coords, sizes, value, places.isInside(own));
};

/** Index tensors of an advanced index: the shape they broadcast to, where it stands in the result, their dimensions. */
function sharedIndex(indices: readonly (LoweredTensor | null)[]): {
  readonly shape: readonly number[];
  readonly start: number;
  readonly dims: readonly number[];
} {
  const dims = indices.flatMap((index, d) => (index == null ? [] : [d]));
  const shapes = dims.map((d) => indices[d]!.sizes);
  const adjacent = dims.every((d, i) => d === dims[0]! + i);
  return {
    shape: broadcastSizes(shapes, 'aten::index_put').map(Number),
    start: adjacent ? dims[0]! : 0,
    dims,
  };
}

const placements: { readonly [Op in KnownOperator]?: PlacementOf<Op> } = {
  'aten::slice_scatter': slice,
  'aten::select_scatter': select,
  'aten::diagonal_scatter': diagonal,
  'aten::index_copy': indexCopy,
  'aten::scatter.src': scatter,
  'aten::scatter.value': scatter,
  'aten::index_put': indexPut,
};

const PLACEMENTS: Readonly<Record<string, Placement>> = placements;

/** What a scatter writes to `target`, a buffer or a view of one. */
export function placedPart(
  l: Lowering,
  target: LoweredTensor,
  args: readonly LoweredArg[],
  call: LoweringCall,
): PlacedPart {
  return PLACEMENTS[call.op]!(l, target, args, call);
}

/** Whether `placedPart` takes a scatter: not if sums, masks or a search among very many indices are needed. */
export function canBePlaced(l: Lowering, scatter: Node): boolean {
  const { qualifiedName } = operatorOf(scatter)!;
  const whole = tensorVal(scatter.input());
  if (whole === null || whole.ndim === 0) return false;
  if (PLACEMENTS[qualifiedName] === undefined || registeredLowering(qualifiedName) !== undefined)
    return false;
  switch (qualifiedName) {
    case 'aten::slice_scatter':
    case 'aten::select_scatter':
    case 'aten::diagonal_scatter':
      return true;
    case 'aten::index_put':
      // Without `accumulate`.
      return scatter.args[3] !== true && canBeNamed(l, [scatter.args[1]].flat(), 1);
    default:
      return canBeNamed(l, [scatter.args[2]], whole.ndim);
  }
}

/** Whether indices name places one by one, with few others to compare with; `rank`: dimensions that may be longer than 1. */
function canBeNamed(l: Lowering, indices: readonly Argument[], rank: number): boolean {
  const tensors = indices.flatMap((index) => (index instanceof Node ? [tensorVal(index)!] : []));
  if (tensors.length === 0 || tensors.some(({ dtype }) => dtype !== 'int64' && dtype !== 'int32'))
    return false;
  const sizes = broadcastShapes(tensors.map((tensor) => tensor.sizes));
  const count = numelOf(sizes);
  if (count === 0 || sizes.filter((size) => size !== 1).length > rank) return false;
  return affordable(l, count, Math.max(...sizes, 1), count);
}
