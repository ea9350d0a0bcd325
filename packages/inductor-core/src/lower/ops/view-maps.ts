/**
 * @file Views as index maps: the functions from which view lowerings, and others, are made.
 */
import { type Size, SymInt, sizeAdd } from '@tessera/shared';
import type { IndexExpr } from '../../ir/index-expr.js';
import { broadcastCoords } from './elementwise.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import type { LoweredArg } from '../registry.js';
import { type Shape, isLarger, numelOf, rowMajorStrides } from '../shape-math.js';

/** `2^63 - 1` and the like mean "to the end". */
function clampSlice(value: LoweredArg, size: number, fallback: number): number {
  if (value === null || value === undefined) return fallback;
  const n = Number(value);
  return Math.min(Math.max(n < 0 ? n + size : n, 0), size);
}

/** An argument that is a size or a place. */
export function sizeArg(arg: LoweredArg): Size {
  return arg instanceof SymInt ? arg : Number(arg);
}

/** The first place of a slice of a dimension; negative ones count from its end. */
export function sliceStart(size: Size, start: LoweredArg): Size {
  if (start === null || start === undefined) return 0;
  const from = sizeArg(start);
  if (typeof size === 'number' && typeof from === 'number') return clampSlice(from, size, 0);
  const place = isLarger(0, from) ? sizeAdd(from, size) : from;
  if (isLarger(0, place)) return 0;
  return isLarger(place, size) ? size : place;
}

/** Digits of a row-major index in a shape. */
export function delinearize(lowering: Lowering, flat: IndexExpr, sizes: Shape): IndexExpr[] {
  const { ir } = lowering;
  const strides = rowMajorStrides(sizes);
  return sizes.map((size, d) => {
    const above = ir.div(flat, strides[d]!);
    return d === 0 ? (size === 1 ? ir.int(0) : above) : ir.mod(above, size);
  });
}

/** Row-major index of coordinates in a shape. */
export function linearize(
  lowering: Lowering,
  coords: readonly IndexExpr[],
  sizes: Shape,
): IndexExpr {
  const strides = rowMajorStrides(sizes);
  return lowering.ir.add(
    ...coords.map((coord, d) =>
      sizes[d] === 1 ? lowering.ir.int(0) : lowering.ir.scale(coord, strides[d]!),
    ),
  );
}

/** The same elements in row-major order under another shape. */
export function reshapeTensor(
  lowering: Lowering,
  self: LoweredTensor,
  sizes: Shape,
): LoweredTensor {
  if (self.shape.length === sizes.length && self.shape.every((size, d) => size === sizes[d]))
    return self;
  if (sizes.some((size) => size === 0))
    return self.view(
      sizes,
      self.shape.map(() => lowering.ir.int(0)),
    );
  return self.view(
    sizes,
    delinearize(lowering, linearize(lowering, lowering.vars(sizes), sizes), self.shape),
  );
}

/** Dimension `d` of the result is dimension `order[d]` of the tensor. */
export function permuteTensor(
  lowering: Lowering,
  self: LoweredTensor,
  order: readonly number[],
): LoweredTensor {
  const sizes = order.map((d) => self.shape[d]!);
  const vars = lowering.vars(sizes);
  const coords = new Array<IndexExpr>(sizes.length);
  order.forEach((from, to) => {
    coords[from] = vars[to]!;
  });
  return self.view(sizes, coords);
}

/** The tensor with one coordinate mapped. */
export function mapDim(
  lowering: Lowering,
  self: LoweredTensor,
  dim: number,
  size: Size,
  map: (index: IndexExpr) => IndexExpr,
): LoweredTensor {
  const sizes = self.shape.map((s, d) => (d === dim ? size : s));
  return self.view(
    sizes,
    lowering.vars(sizes).map((v, d) => (d === dim ? map(v) : v)),
  );
}

/** Elements start, start + step, … of a dimension. */
export function sliceTensor(
  lowering: Lowering,
  self: LoweredTensor,
  dim: number,
  start: Size,
  length: Size,
  step: number,
): LoweredTensor {
  if (start === 0 && step === 1 && length === self.shape[dim]) return self;
  return mapDim(lowering, self, dim, length, (v) =>
    lowering.ir.add(lowering.ir.scale(v, step), lowering.ir.size(start)),
  );
}

/** A place in a dimension; a negative one counts from its end. */
export function selectedPlace(index: LoweredArg, size: Size): Size {
  const at = sizeArg(index);
  return isLarger(0, at) ? sizeAdd(at, size) : at;
}

/** One element of a dimension, which disappears. */
export function selectTensor(
  lowering: Lowering,
  self: LoweredTensor,
  dim: number,
  index: Size,
): LoweredTensor {
  const at = selectedPlace(index, self.shape[dim]!);
  const sizes = self.shape.filter((_, d) => d !== dim);
  const vars = [...lowering.vars(sizes)];
  vars.splice(dim, 0, lowering.ir.size(at));
  return self.view(sizes, vars);
}

/** The tensor broadcast to a shape; costly values get memory first. */
export function expandTensor(lowering: Lowering, self: LoweredTensor, sizes: Shape): LoweredTensor {
  const grows = numelOf(sizes) !== numelOf(self.shape);
  if (grows && !self.isRealized) {
    const cost = lowering.costOf(self.expr);
    if (cost.expensive || cost.loads > 4) self.realize();
  }
  return self.view(sizes, broadcastCoords(lowering, self.shape, sizes, lowering.vars(sizes)));
}
