/**
 * @file Walking positions along one dimension: what gather, scatter and index kernels share.
 */
import { TesseraError } from '@tessera/shared';
import { contiguousStrides, formatSizes, numelOf } from '../shape.js';
import { indexCheck, valueError } from './value-check.js';

/** Wraps an index that may be negative. @throws index-out-of-range */
export function wrapIndex(index: number, size: number, op: string): number {
  if (index >= 0 && index < size) return index;
  if (index < 0 && index >= -size) return index + size;
  throw valueError(indexCheck(op, size, true), index);
}

/** An index of the ops that take no negative ones. @throws index-out-of-range */
export function strictIndex(index: number, size: number, op: string): number {
  if (index >= 0 && index < size) return index;
  throw valueError(indexCheck(op, size), index);
}

/** A tensor as slices along a dim: `outer` blocks of `size` slices of `inner` elements. */
export interface SliceLayout {
  readonly outer: number;
  readonly size: number;
  readonly inner: number;
}

/** The slices of a shape along a dim; a 0-d tensor is one slice. */
export function sliceLayout(sizes: readonly number[], dim: number): SliceLayout {
  const at = dim < 0 ? dim + Math.max(sizes.length, 1) : dim;
  return {
    outer: numelOf(sizes.slice(0, at)),
    size: sizes[at] ?? 1,
    inner: numelOf(sizes.slice(at + 1)),
  };
}

/**
 * Calls `visit(i, target)` for each element `i` of an index tensor of shape `shape` (row-major), with the
 * row-major position in a tensor of shape `sizes` at the same coordinates but `indices[i]` along `dim`.
 *
 * @throws index-out-of-range
 */
export function forEachIndexed(
  shape: readonly number[],
  sizes: readonly number[],
  dim: number,
  indices: ArrayLike<number>,
  op: string,
  visit: (i: number, target: number) => void,
): void {
  if (sizes.length === 0) {
    for (let i = 0; i < indices.length; i++) visit(i, strictIndex(indices[i]!, 1, op));
    return;
  }
  const strides = contiguousStrides(sizes);
  const coordinate = new Array<number>(shape.length).fill(0);
  for (let i = 0; i < indices.length; i++) {
    let target = strictIndex(indices[i]!, sizes[dim]!, op) * strides[dim]!;
    for (let d = 0; d < coordinate.length; d++)
      if (d !== dim) target += coordinate[d]! * strides[d]!;
    visit(i, target);
    for (let d = coordinate.length - 1; d >= 0; d--) {
      if (++coordinate[d]! < shape[d]!) break;
      coordinate[d] = 0;
    }
  }
}

/** Refuses an index tensor that is larger than `sizes` in a dim other than `dim`. @throws shape-mismatch */
export function checkIndexShape(
  op: string,
  index: readonly number[],
  sizes: readonly number[],
  dim: number | null,
  what: string,
): void {
  const rank = Math.max(index.length, 1) !== Math.max(sizes.length, 1);
  if (!rank && !index.some((size, i) => i !== dim && size > (sizes[i] ?? 1))) return;
  throw new TesseraError(
    'shape-mismatch',
    `${op}: Expected index ${formatSizes(index)} to be no larger than ${what} ${formatSizes(sizes)}${dim === null ? '' : ` apart from dimension ${dim}`}`,
    {
      hints: ['The index has the rank of the tensor; use expand() to repeat it.'],
    },
  );
}

/** @throws dtype-mismatch unless the index holds integers of one of the types */
export function checkIndexType(op: string, dtype: string, types = 'int32/int64'): void {
  if (types.split('/').includes(dtype)) return;
  throw new TesseraError(
    'dtype-mismatch',
    `${op}(): Expected dtype ${types} for index, got ${dtype}`,
    { hints: ["Convert it: index.to('int64')."] },
  );
}
