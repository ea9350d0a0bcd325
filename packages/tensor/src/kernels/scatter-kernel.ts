/**
 * @file Reference kernels and meta rule of scatters along a dimension.
 */
import type { ScalarLike } from '@tessera/shared';
import type { TensorMeta } from '../op/op-record.js';
import { wrapDim, numelOf } from '../shape.js';
import type { Tensor } from '../tensor.js';
import { checkIndexShape, checkIndexType, forEachIndexed } from './coordinates.js';
import { readNumbers, writeNumbers } from './elements.js';
import { scalarValue } from './pointwise-kernel.js';
import { checkDtype } from './restrict-dtypes.js';
import { denseMeta } from './suggest-format.js';

/** Arguments of scatters: a source or one value. */
export interface ScatterArgs {
  readonly self: Tensor;
  readonly dim: number;
  readonly index: Tensor;
  readonly src?: Tensor;
  readonly value?: ScalarLike;
}

/** Meta rule of scatters along a dimension. @throws dtype-mismatch, shape-mismatch */
export function scatterMeta(op: string): (args: ScatterArgs) => TensorMeta {
  return ({ self, dim, index, src }) => {
    const at = wrapDim(dim, self.ndim, op);
    if (index.numel > 0) {
      checkIndexType(op, index.dtype);
      checkIndexShape(op, index.sizes, self.sizes, at, 'self');
      if (src !== undefined) checkIndexShape(op, index.sizes, src.sizes, null, 'src');
    }
    if (src !== undefined) checkDtype(op, 'src', src, self.dtype);
    return denseMeta(self, self.sizes);
  };
}

/** Elements of `src` by position in the index. `src` may be larger: only the part under the index is read. */
export function sourceUnderIndex(shape: readonly number[], src: Tensor): (i: number) => number {
  const values = readNumbers(src);
  const along = coordinatesAlong(shape);
  const positions = new Int32Array(along.length);
  const sizes = src.ndim === 0 ? [1] : src.sizes;
  forEachIndexed(shape, sizes, 0, along, 'scatter', (i, from) => (positions[i] = from));
  return (i) => values[positions[i]!]!;
}

/** Kernel that combines old and new values at the indexed positions. */
export function scatterKernel(
  op: string,
  combine: (old: number, value: number) => number,
): (args: ScatterArgs, outs: readonly Tensor[]) => void {
  return ({ self, dim, index, src, value }, [out]) => {
    const results = readNumbers(self);
    const indices = readNumbers(index);
    const at = wrapDim(dim, self.ndim);
    const shape = index.sizes;
    let source: (i: number) => number;
    if (src !== undefined) {
      source = sourceUnderIndex(shape, src);
    } else {
      const constant = scalarValue(value!);
      source = () => constant;
    }
    forEachIndexed(
      shape,
      self.sizes,
      at,
      indices,
      op,
      (i, to) => (results[to] = combine(results[to]!, source(i))),
    );
    writeNumbers(out!, results);
  };
}

/** The coordinate along dim 0 of each element of a shape: an index that changes nothing. */
function coordinatesAlong(shape: readonly number[]): Float64Array {
  const inner = numelOf(shape.slice(1));
  return Float64Array.from({ length: (shape[0] ?? 1) * inner }, (_, i) => Math.floor(i / inner));
}
