/**
 * @file Geometry of partial views: where a select, slice or diagonal lies on its tensor's memory.
 */
import { TesseraError } from '@tessera/shared';
import type { ViewMeta } from '../op/op-record.js';
import { formatSizes, wrapDim } from '../shape.js';
import { makeTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';

/** "To the end" in a slice: the largest 64-bit integer, as the nearest double. */
export const SLICE_END = 9223372036854775807;

/** Layout on a storage; the part of a tensor that view geometry needs. */
export interface Layout {
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
  readonly storageOffset: number;
}

/** Geometry of `select`. @throws index-out-of-range, invalid-dim */
export function selectView(self: Layout, dim: number, index: number): ViewMeta {
  if (self.sizes.length === 0) {
    throw new TesseraError('invalid-dim', 'select() cannot be applied to a 0-dim tensor.', {
      hints: ['Use item() to read its value.'],
    });
  }
  const at = wrapDim(dim, self.sizes.length, 'select');
  const size = self.sizes[at]!;
  if (index < -size || index >= size) {
    throw new TesseraError(
      'index-out-of-range',
      `select(): index ${index} out of range for tensor of size ${formatSizes(self.sizes)} at dimension ${dim}`,
      {
        context: { index, dim, sizes: self.sizes },
        hints: [`Use an index from ${-size} to ${size - 1}.`],
      },
    );
  }
  const offset = self.storageOffset + (index < 0 ? index + size : index) * self.strides[at]!;
  const rest = (_: number, i: number): boolean => i !== at;
  return { sizes: self.sizes.filter(rest), strides: self.strides.filter(rest), offset };
}

/** Geometry of `slice`: bounds wrap and clamp as in Python. @throws invalid-dim, invalid-argument */
export function sliceView(
  self: Layout,
  dim: number,
  start: number | null,
  end: number | null,
  step: number,
): ViewMeta {
  const at = wrapDim(dim, self.sizes.length, 'slice');
  if (self.sizes.length === 0)
    throw new TesseraError('invalid-dim', 'slice() cannot be applied to a 0-dim tensor.', {
      hints: ['Reshape it to [1] first.'],
    });
  if (!(step > 0))
    throw new TesseraError('invalid-argument', `slice step must be positive, got ${step}`, {
      hints: ['Use flip() to reverse.'],
    });
  const size = self.sizes[at]!;
  const bound = (value: number): number =>
    Math.min(Math.max(value < 0 ? value + size : value, 0), size);
  const from = bound(start ?? 0);
  const to = Math.max(from, bound(end ?? SLICE_END));
  const sizes = [...self.sizes];
  const strides = [...self.strides];
  sizes[at] = Math.ceil((to - from) / step);
  strides[at] = strides[at]! * step;
  return { sizes, strides, offset: self.storageOffset + from * self.strides[at]! };
}

/** Geometry of `diagonal`: the diagonal is the last dim. @throws invalid-dim */
export function diagonalView(self: Layout, offset: number, dim1: number, dim2: number): ViewMeta {
  const a = wrapDim(dim1, self.sizes.length, 'diagonal');
  const b = wrapDim(dim2, self.sizes.length, 'diagonal');
  if (a === b)
    throw new TesseraError(
      'invalid-dim',
      `diagonal dimensions cannot be identical ${dim1}, ${dim2}`,
      { hints: ['Name two different dimensions.'] },
    );
  const rows = self.sizes[a]! + Math.min(offset, 0);
  const columns = self.sizes[b]! - Math.max(offset, 0);
  const size = Math.max(Math.min(rows, columns), 0);
  const start =
    size === 0 ? 0 : offset >= 0 ? offset * self.strides[b]! : -offset * self.strides[a]!;
  const rest = (_: number, i: number): boolean => i !== a && i !== b;
  return {
    sizes: [...self.sizes.filter(rest), size],
    strides: [...self.strides.filter(rest), self.strides[a]! + self.strides[b]!],
    offset: self.storageOffset + start,
  };
}

/** A tensor over the part of `out` that a view geometry names. */
export function partOf(out: Tensor, geometry: ViewMeta): Tensor {
  return makeTensor(
    out.storage,
    out.dtype,
    out.device,
    geometry.sizes,
    geometry.strides,
    geometry.offset,
  );
}
