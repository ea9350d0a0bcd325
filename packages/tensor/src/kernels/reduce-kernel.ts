/**
 * @file Reference kernels and meta rules of reductions.
 *
 * A reduction sees its input as rows: one row of elements per output element, both in row-major order.
 */
import { denseMeta } from './suggest-format.js';
import type { DType } from '../dtype.js';
import type { TensorMeta } from '../op/op-record.js';
import { contiguousStrides, numelOf, reducedSizes, wrapDims } from '../shape.js';
import type { Tensor } from '../tensor.js';
import { type Elements, readElements, roomFor, writeNumbers } from './elements.js';

/** Arguments of reductions, which not all have. */
export interface ReduceArgs {
  readonly self: Tensor;
  readonly dim?: number | readonly number[] | null;
  readonly keepdim?: boolean;
  readonly dtype?: DType | null;
}

/** Reads the `dim` and `keepdim` of a reduction's arguments. */
export function reduceDims({ self, dim = null }: ReduceArgs, op: string): number[] {
  return wrapDims(dim, self.ndim, op);
}

/** Shape of a reduction's result. */
export function reducedMeta(
  self: Tensor,
  dims: readonly number[],
  keepdim: boolean,
  dtype: DType,
): TensorMeta {
  const sizes = reducedSizes(self.sizes, dims, keepdim);
  return denseMeta(self, sizes, dtype);
}

/** Meta rule of a reduction over `dim` (all if null or absent), with `dtype` from the input's. */
export function reduceMeta(
  op: string,
  dtypeOf: (self: Tensor, args: ReduceArgs) => DType,
): (args: ReduceArgs) => TensorMeta {
  return (args) => {
    const { self } = args;
    return reducedMeta(self, reduceDims(args, op), args.keepdim === true, dtypeOf(self, args));
  };
}

/** Positions, in row-major order, of the elements of row 0, and of the first element of every row. */
export interface RowLayout {
  readonly within: Int32Array;
  readonly starts: Int32Array;
}

function positions(sizes: readonly number[], dims: readonly number[]): Int32Array {
  const strides = contiguousStrides(sizes);
  const out = new Int32Array(numelOf(dims.map((d) => sizes[d]!)));
  const index = new Array<number>(dims.length).fill(0);
  let offset = 0;
  for (let i = 0; i < out.length; i++) {
    out[i] = offset;
    for (let k = dims.length - 1; k >= 0; k--) {
      const dim = dims[k]!;
      offset += strides[dim]!;
      if (++index[k]! < sizes[dim]!) break;
      offset -= index[k]! * strides[dim]!;
      index[k] = 0;
    }
  }
  return out;
}

/** Where the rows of a reduction over `dims` lie. */
export function rowLayout(sizes: readonly number[], dims: readonly number[]): RowLayout {
  const kept = sizes.map((_, i) => i).filter((i) => !dims.includes(i));
  const sorted = [...dims].sort((a, b) => a - b);
  return { within: positions(sizes, sorted), starts: positions(sizes, kept) };
}

/** Calls `row(values, position)` for each output element, in row-major order, with the elements it reduces. */
export function reduceRows(
  self: Tensor,
  dims: readonly number[],
  row: (values: Elements, position: number) => void,
): void {
  const { within, starts } = rowLayout(self.sizes, dims);
  const values = readElements(self);
  const buffer = roomFor(self.dtype, within.length);
  for (let r = 0; r < starts.length; r++) {
    const start = starts[r]!;
    for (let i = 0; i < within.length; i++) buffer[i] = values[start + within[i]!]!;
    row(buffer, r);
  }
}

/** Reference kernel of a reduction to one value. */
export function reduceKernel<Args extends ReduceArgs>(
  op: string,
  fn: (values: Elements, args: Args) => number,
): (args: Args, outs: readonly Tensor[]) => void {
  return (args, outs) => {
    const out = outs[0]!;
    const results = roomFor(out.dtype, numelOf(out.sizes));
    reduceRows(args.self, reduceDims(args, op), (values, i) => {
      results[i] = fn(values, args);
    });
    writeNumbers(out, results);
  };
}

/**
 * Rewrites each row along `dim`: `row(values, results)` fills `results[j]` for output `j`, all of the
 * row's length. For softmax, scans and sorts.
 */
export function mapRows(
  self: Tensor,
  dim: number,
  outs: readonly Tensor[],
  row: (values: Elements, results: readonly Elements[]) => void,
): void {
  const { within, starts } = rowLayout(self.sizes, self.ndim === 0 ? [] : [dim]);
  const values = readElements(self);
  const results = outs.map(({ dtype }) => roomFor(dtype, values.length));
  const buffer = roomFor(self.dtype, within.length);
  const rows = outs.map(({ dtype }) => roomFor(dtype, within.length));
  for (const start of starts) {
    for (let i = 0; i < within.length; i++) buffer[i] = values[start + within[i]!]!;
    row(buffer, rows);
    for (let o = 0; o < outs.length; o++)
      for (let i = 0; i < within.length; i++) results[o]![start + within[i]!] = rows[o]![i]!;
  }
  outs.forEach((out, o) => writeNumbers(out, results[o]!));
}
