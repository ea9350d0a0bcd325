/**
 * @file The rows of a tensor along a dimension, one after the other, for kernels that order their elements.
 */
import type { Tensor } from '../tensor.js';
import { sliceLayout } from './coordinates.js';
import { floatsInPlace, readElements, writeNumbers } from './elements.js';
import { RowOrder, type RowValues } from './order-kernel.js';

/** See the file header: `rows` rows of `length` numbers. */
export interface OrderedRows {
  readonly values: RowValues | number[];
  readonly rows: number;
  readonly length: number;
  readonly order: RowOrder;
}

type Numbers = RowValues | number[] | Int32Array;

/** Side of the squares in which matrices are transposed: what is read and written stays in the cache. */
const TILE = 32;

/** Matrices [count, rows, columns], each transposed. */
function transposed<A extends Numbers>(from: A, rows: number, columns: number): A {
  if (rows === 1 || columns === 1) return from;
  const to = from.slice() as A;
  for (let base = 0; base < from.length; base += rows * columns)
    for (let top = 0; top < rows; top += TILE)
      for (let left = 0; left < columns; left += TILE) {
        const bottom = Math.min(top + TILE, rows);
        const right = Math.min(left + TILE, columns);
        for (let c = left; c < right; c++)
          for (let r = top; r < bottom; r++)
            to[base + c * rows + r] = from[base + r * columns + c]!;
      }
  return to;
}

/** Numbers in the order of elements of int64 with BigInts among them: how many others are smaller. */
function orderedAs(values: number[]): Float64Array {
  const distinct = [...new Set(values)].sort((a, b) => (a < b ? -1 : 1));
  const ranks = new Map(distinct.map((value, rank) => [value, rank]));
  return Float64Array.from(values, (value) => ranks.get(value)!);
}

/**
 * Reads the rows along `dim`: where they lie, if that can be, so that nothing may take memory while they are used. Without a
 * dimension, all elements are copied as one row.
 *
 * @throws use-after-dispose, fake-data-access, data-async-only
 */
export function readRows(self: Tensor, dim?: number): OrderedRows {
  const { numel } = self;
  const { size, inner } =
    dim === undefined ? { size: numel, inner: 1 } : sliceLayout(self.sizes, dim);
  const inPlace = dim === undefined ? null : floatsInPlace(self);
  const values = transposed(
    inPlace ?? (readElements(self) as Float64Array | number[]),
    size,
    inner,
  );
  return {
    values,
    rows: size === 0 ? 0 : numel / size,
    length: size,
    order: new RowOrder(Array.isArray(values) ? orderedAs(values) : values, size),
  };
}

/** Writes rows that lie along `dim`. */
export function writeRows(out: Tensor, rows: Numbers, dim: number): void {
  const { size, inner } = sliceLayout(out.sizes, dim);
  writeNumbers(out, transposed(rows, inner, size));
}
