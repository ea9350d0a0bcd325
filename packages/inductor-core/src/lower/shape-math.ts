/**
 * @file Shapes whose sizes may be symbolic, and the one way back to numbers.
 *
 * A question about sizes that the symbols leave open is answered for the example and becomes a guard. A lowering that
 * needs a number where the graph has a symbolic size asks `fixed` for it. That ends the attempt: the graph is lowered
 * again with that size fixed, so nothing that was made of it as a symbol is left (compile-graph.ts).
 */
import {
  type Size,
  type SymInt,
  sizeAdd,
  sizeEq,
  sizeKnown,
  sizeLt,
  sizeMul,
  sizeProduct,
  sizeSub,
} from '@tessera/shared';
import { broadcastShapes } from '@tessera/tensor';
import { contiguousStrides, hasInternalOverlap, storageExtent } from '@tessera/tensor/internal';

/** Sizes of the dimensions of a tensor, outermost first. */
export type Shape = readonly Size[];

/** Thrown where a lowering needs numbers for symbolic sizes; caught by `compileToTemplate` alone. */
export class SizesNeeded extends Error {
  override readonly name = 'SizesNeeded';
  /** The operator that is lowered, and the user's line where it is called. */
  op: string | null = null;
  location: string | null = null;

  constructor(readonly size: SymInt) {
    super(`The size ${String(size)} is needed as a number`);
  }
}

/** A size as a number. */
export function fixed(size: Size): number {
  if (typeof size === 'number') return size;
  throw new SizesNeeded(size);
}

/** Sizes as numbers. */
export function fixedShape(shape: Shape): readonly number[] {
  return isNumbers(shape) ? shape : shape.map(fixed);
}

/** Whether all sizes are numbers. */
export function isNumbers(shape: Shape): shape is readonly number[] {
  return shape.every((size) => typeof size === 'number');
}

/** Number of elements. */
export function numelOf(shape: readonly number[]): number;
export function numelOf(shape: Shape): Size;
export function numelOf(shape: Shape): Size {
  return sizeProduct(shape);
}

/** Whether there are no elements; a guard where that depends on the symbols. */
export function isEmpty(shape: Shape): boolean {
  return shape.some((size) => isSame(size, 0));
}

/** Whether two sizes are the same; a guard where that depends on the symbols. */
export const isSame: (a: Size, b: Size) => boolean = sizeEq;

/** Whether `a > b`; a guard where that depends on the symbols. */
export function isLarger(a: Size, b: Size): boolean {
  return sizeLt(b, a);
}

/** The larger of two sizes; a guard where that depends on the symbols. */
export function largerOf(a: Size, b: Size): Size {
  return isLarger(a, b) ? a : b;
}

/** Row-major strides in elements. */
export function rowMajorStrides(shape: Shape): readonly Size[] {
  if (isNumbers(shape)) return contiguousStrides(shape);
  const strides = new Array<Size>(shape.length);
  let below: Size = 1;
  for (let d = shape.length - 1; d >= 0; d--) {
    strides[d] = below;
    below = sizeMul(below, shape[d]!);
  }
  return strides;
}

/** Elements from the first to the last, inclusive; 0 for none. */
export function extentOf(shape: Shape, strides: Shape): Size {
  if (isNumbers(shape) && isNumbers(strides)) return storageExtent(shape, strides);
  if (isEmpty(shape)) return 0;
  return shape.reduce<Size>(
    (last, size, d) => sizeAdd(last, sizeMul(sizeSub(size, 1), strides[d]!)),
    1,
  );
}

/** Whether a layout has neither gaps nor overlaps; the sizes are fixed where that is not evident. */
export function isDense(shape: Shape, strides: Shape): boolean {
  if (isNumbers(shape) && isNumbers(strides))
    return storageExtent(shape, strides) === numelOf(shape) && !hasInternalOverlap(shape, strides);
  if (strides.some((stride, d) => stride === 0 && shape[d] !== 1)) return false;
  return isInSomeOrder(shape, strides) ?? isDense(fixedShape(shape), fixedShape(strides));
}

/** Whether the dimensions are row-major in some order; null where that is not known. */
function isInSomeOrder(shape: Shape, strides: Shape): boolean | null {
  const left = new Set(shape.flatMap((size, d) => (size === 1 ? [] : [d])));
  let below: Size = 1;
  while (left.size > 0) {
    const next = [...left].find((d) => strides[d] === below);
    if (next === undefined) {
      const differs = (d: number): boolean => sizeKnown(strides[d]!, '==', below) === false;
      return [...left].every(differs) ? false : null;
    }
    left.delete(next);
    below = sizeMul(below, shape[next]!);
  }
  return true;
}

/** The shape that shapes broadcast to. @throws shape-mismatch */
export function broadcastSizes(shapes: readonly Shape[], op: string): Shape {
  if (shapes.every(isNumbers)) return broadcastShapes(shapes, op);
  const rank = Math.max(...shapes.map((shape) => shape.length));
  return Array.from({ length: rank }, (_, d) => {
    let result: Size = 1;
    for (const shape of shapes) {
      const size = shape[d - rank + shape.length] ?? 1;
      if (size === 1 || size === result) continue;
      if (result === 1) result = size;
      else if (!isSame(size, result)) return broadcastShapes(shapes.map(fixedShape), op)[d]!;
    }
    return result;
  });
}
