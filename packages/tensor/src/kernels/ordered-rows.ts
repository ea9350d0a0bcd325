/**
 * @file The rows of a tensor along a dimension, one after the other, for kernels that order their elements.
 *
 * int64 elements that no double holds exactly are numbered in ascending order, and the numbers ordered instead.
 */
import { cpuHeap } from '../heap/cpu-heap.js';
import { itemSize } from '../dtype.js';
import type { Tensor } from '../tensor.js';
import { sliceLayout } from './coordinates.js';
import { forEachOffset, readNumbers, readWholes, writeNumbers } from './elements.js';
import { RowOrder } from './order-kernel.js';

/** See the file header: `rows` rows of `length` numbers. */
export interface OrderedRows {
  readonly values: Float64Array;
  readonly rows: number;
  readonly length: number;
  readonly order: RowOrder;
  /** What the numbers stand for, if not for themselves. */
  readonly wholes: BigInt64Array | null;
}

type Numbers = Float64Array | Int32Array;

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

/** Reads the rows along `dim`; without it, all elements as one row. @throws use-after-dispose, fake-data-access, data-async-only */
export function readRows(self: Tensor, dim?: number): OrderedRows {
  const { numel } = self;
  const { size, inner } =
    dim === undefined ? { size: numel, inner: 1 } : sliceLayout(self.sizes, dim);
  const { numbers, wholes } = readComparable(self);
  const values = transposed(numbers[0]!, size, inner);
  return {
    values,
    rows: size === 0 ? 0 : numel / size,
    length: size,
    order: new RowOrder(values, size),
    wholes,
  };
}

/** Elements in row-major order as numbers that compare as they do, and what the numbers stand for if not for themselves. */
export function readComparable(...tensors: readonly Tensor[]): {
  readonly numbers: readonly Float64Array[];
  readonly wholes: BigInt64Array | null;
} {
  const numbers = tensors.map((tensor) => readNumbers(tensor));
  if (!tensors.some((tensor, i) => tensor.dtype === 'int64' && isInexact(numbers[i]!)))
    return { numbers, wholes: null };
  const read = tensors.map((tensor) => readWholes(tensor));
  const wholes = BigInt64Array.from(new Set(read.flatMap((each) => [...each]))).sort();
  const places = new Map(Array.from(wholes, (whole, i) => [whole, i]));
  return {
    numbers: read.map((each) => Float64Array.from(each, (whole) => places.get(whole)!)),
    wholes,
  };
}

/** Whether integers were read as numbers that may stand for others too. */
function isInexact(numbers: Float64Array): boolean {
  for (let i = 0; i < numbers.length; i++)
    if (Math.abs(numbers[i]!) > Number.MAX_SAFE_INTEGER) return true;
  return false;
}

/** Writes rows that lie along `dim`. */
export function writeRows(
  out: Tensor,
  rows: Numbers,
  dim: number,
  wholes: BigInt64Array | null = null,
): void {
  const { size, inner } = sliceLayout(out.sizes, dim);
  writeOrdered(out, transposed(rows, inner, size), wholes);
}

/** Writes elements in row-major order: numbers, or what they stand for. */
export function writeOrdered(out: Tensor, numbers: Numbers, wholes: BigInt64Array | null): void {
  if (wholes === null) return writeNumbers(out, numbers);
  out.storage.assertReadable('writing values', true);
  const at = out.storage.ptr / itemSize('int64') + out.storageOffset;
  const { i64 } = cpuHeap();
  forEachOffset(out.sizes, out.strides, (i, offset) => {
    i64[at + offset] = wholes[numbers[i]!]!;
  });
}
