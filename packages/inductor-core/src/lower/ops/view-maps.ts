/**
 * @file Views as index maps: the functions from which view lowerings, and others, are made.
 */
import { contiguousStrides } from '@tessera/tensor/internal';
import type { IndexExpr } from '../../ir/index-expr.js';
import { broadcastCoords } from './elementwise.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import type { LoweredArg } from '../registry.js';

/** `2^63 - 1` and the like mean "to the end". */
function clampSlice(value: LoweredArg, size: number, fallback: number): number {
  if (value === null || value === undefined) return fallback;
  const n = Number(value);
  return Math.min(Math.max(n < 0 ? n + size : n, 0), size);
}

/** Start, end and step of a slice of a dimension, resolved. */
export function sliceRange(
  size: number,
  start: LoweredArg,
  end: LoweredArg,
  step: LoweredArg,
): { readonly start: number; readonly end: number; readonly step: number } {
  const from = clampSlice(start, size, 0);
  return { start: from, end: Math.max(clampSlice(end, size, size), from), step: Number(step ?? 1) };
}

/** Digits of a row-major index in a shape. */
export function delinearize(
  lowering: Lowering,
  flat: IndexExpr,
  sizes: readonly number[],
): IndexExpr[] {
  const { ir } = lowering;
  const strides = contiguousStrides(sizes);
  return sizes.map((size, d) => {
    const above = ir.div(flat, strides[d]!);
    return d === 0 ? (size === 1 ? ir.int(0) : above) : ir.mod(above, size);
  });
}

/** Row-major index of coordinates in a shape. */
export function linearize(
  lowering: Lowering,
  coords: readonly IndexExpr[],
  sizes: readonly number[],
): IndexExpr {
  const strides = contiguousStrides(sizes);
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
  sizes: readonly number[],
): LoweredTensor {
  if (self.sizes.length === sizes.length && self.sizes.every((size, d) => size === sizes[d]))
    return self;
  if (sizes.some((size) => size === 0))
    return self.view(
      sizes,
      self.sizes.map(() => lowering.ir.int(0)),
    );
  return self.view(
    sizes,
    delinearize(lowering, linearize(lowering, lowering.vars(sizes), sizes), self.sizes),
  );
}

/** Dimension `d` of the result is dimension `order[d]` of the tensor. */
export function permuteTensor(
  lowering: Lowering,
  self: LoweredTensor,
  order: readonly number[],
): LoweredTensor {
  const sizes = order.map((d) => self.sizes[d]!);
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
  size: number,
  map: (index: IndexExpr) => IndexExpr,
): LoweredTensor {
  const sizes = self.sizes.map((s, d) => (d === dim ? size : s));
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
  start: number,
  length: number,
  step: number,
): LoweredTensor {
  if (start === 0 && step === 1 && length === self.sizes[dim]) return self;
  return mapDim(lowering, self, dim, length, (v) =>
    lowering.ir.add(lowering.ir.scale(v, step), lowering.ir.int(start)),
  );
}

/** One element of a dimension, which disappears. */
export function selectTensor(
  lowering: Lowering,
  self: LoweredTensor,
  dim: number,
  index: number,
): LoweredTensor {
  const at = index < 0 ? index + self.sizes[dim]! : index;
  const sizes = self.sizes.filter((_, d) => d !== dim);
  const vars = [...lowering.vars(sizes)];
  vars.splice(dim, 0, lowering.ir.int(at));
  return self.view(sizes, vars);
}

/** The tensor broadcast to a shape; costly values get memory first. */
export function expandTensor(
  lowering: Lowering,
  self: LoweredTensor,
  sizes: readonly number[],
): LoweredTensor {
  const grows = sizes.reduce((a, b) => a * b, 1) > self.sizes.reduce((a, b) => a * b, 1);
  if (grows && !self.isRealized) {
    const cost = lowering.costOf(self.expr);
    if (cost.expensive || cost.loads > 4) self.realize();
  }
  return self.view(sizes, broadcastCoords(lowering, self.sizes, sizes, lowering.vars(sizes)));
}
