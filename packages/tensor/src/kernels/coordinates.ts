/**
 * @file Walking positions along one dimension: what gather, scatter and index kernels share.
 */
import { TesseraError } from '@tessera/shared';
import { contiguousStrides, formatSizes, numelOf } from '../shape.js';
import { type Elements, forEachOffset } from './elements.js';
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
 * For each element of an index tensor of shape `shape` (row-major), the row-major position in a tensor of shape `sizes` at
 * the same coordinates but the index along `dim`.
 *
 * @throws index-out-of-range
 */
export function indexedPositions(
  shape: readonly number[],
  sizes: readonly number[],
  dim: number,
  indices: Float64Array,
  op: string,
): Uint32Array {
  const size = sizes[dim] ?? 1;
  const strides = contiguousStrides(sizes);
  const along = strides[dim] ?? 1;
  const others = shape.map((_, d) => (d === dim ? 0 : (strides[d] ?? 0)));
  const positions = new Uint32Array(indices.length);
  forEachOffset(shape, others, (i, offset) => {
    positions[i] = offset + strictIndex(indices[i]!, size, op) * along;
  });
  return positions;
}

/** Row-major positions of the elements other than 0 (NaN is one). */
export function positionsOfHits(values: Float64Array): Uint32Array {
  const found = new Uint32Array(values.length);
  let count = 0;
  // Without a branch: of masks, engines guess every other one wrong.
  for (let i = 0; i < values.length; i++) {
    found[count] = i;
    count += values[i] === 0 ? 0 : 1;
  }
  return found.subarray(0, count);
}

/** The coordinate in one dimension of row-major positions. */
export function coordinatesIn(
  sizes: readonly number[],
  dim: number,
  positions: Uint32Array,
): Int32Array {
  const stride = numelOf(sizes.slice(dim + 1));
  const size = sizes[dim]!;
  const found = new Int32Array(positions.length);
  for (let i = 0; i < found.length; i++) found[i] = ((positions[i]! / stride) >>> 0) % size;
  return found;
}

/** The values at positions. */
export function pick(values: Elements | Float32Array, positions: ArrayLike<number>): Elements {
  const picked = Array.isArray(values) ? [] : new Float64Array(positions.length);
  for (let i = 0; i < positions.length; i++) picked[i] = values[positions[i]!]!;
  return picked;
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
      hints: ['The index is of the same rank; expand() repeats it.'],
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
