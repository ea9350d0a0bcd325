/**
 * @file Reference kernels and meta rules of reductions.
 */
import type { DType } from '../dtype.js';
import type { NamedArgs, TensorMeta } from '../op/op-record.js';
import { contiguousStrides, numelOf, reducedSizes, wrapDims } from '../shape.js';
import type { Tensor } from '../tensor.js';
import { readNumbers, writeNumbers } from './elements.js';

/** Reads the `dim` and `keepdim` of a reduction's arguments. */
export function reduceDims(args: NamedArgs, op: string): number[] {
  return wrapDims(args.dim as number[] | number | null, (args.self as Tensor).ndim, op);
}

/** Meta rule of a reduction over `dim` (all if null or absent), with `dtype` from the input's. */
export function reduceMeta(op: string, dtypeOf: (self: Tensor, args: NamedArgs) => DType): (args: NamedArgs) => TensorMeta {
  return (args) => {
    const self = args.self as Tensor;
    const sizes = reducedSizes(self.sizes, reduceDims(args, op), args.keepdim === true);
    return { sizes, strides: contiguousStrides(sizes), dtype: dtypeOf(self, args), device: self.device };
  };
}

/** Calls `row(values)` for each output element, in row-major order, with the elements it reduces. */
export function reduceRows(self: Tensor, dims: readonly number[], row: (values: Float64Array, position: number) => void): void {
  const kept = self.sizes.map((_, i) => i).filter((i) => !dims.includes(i));
  const order = [...kept, ...dims];
  const permuted = order.map((d) => self.sizes[d]!);
  const strides = order.map((d) => contiguousStrides(self.sizes)[d]!);
  const values = readNumbers(self);
  const length = numelOf(dims.map((d) => self.sizes[d]!));
  const rows = numelOf(kept.map((d) => self.sizes[d]!));
  const buffer = new Float64Array(length);
  const index = new Array<number>(order.length).fill(0);
  let offset = 0;
  for (let r = 0; r < rows; r++) {
    for (let i = 0; i < length; i++) {
      buffer[i] = values[offset]!;
      for (let d = order.length - 1; d >= 0; d--) {
        index[d]!++;
        offset += strides[d]!;
        if (index[d]! < permuted[d]!) break;
        offset -= index[d]! * strides[d]!;
        index[d] = 0;
      }
    }
    row(buffer, r);
  }
}

/** Reference kernel of a reduction to one value. */
export function reduceKernel(op: string, fn: (values: Float64Array, args: NamedArgs) => number): (args: NamedArgs, outs: readonly Tensor[]) => void {
  return (args, outs) => {
    const out = outs[0]!;
    const results = new Float64Array(numelOf(out.sizes));
    reduceRows(args.self as Tensor, reduceDims(args, op), (values, i) => {
      results[i] = fn(values, args);
    });
    writeNumbers(out, results);
  };
}
