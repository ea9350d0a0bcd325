/**
 * @file Reference kernels and meta rule of scatters along a dimension.
 */
import type { ScalarLike } from '@tessera/shared';
import { formatStrides } from '../memory-format.js';
import type { NamedArgs, TensorMeta } from '../op/op-record.js';
import { wrapDim } from '../shape.js';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import { checkIndexShape, checkIndexType, forEachIndexed } from './coordinates.js';
import { readNumbers, writeNumbers } from './elements.js';
import { scalarValue } from './pointwise-kernel.js';

/** Meta rule of scatters along a dimension. @throws dtype-mismatch, shape-mismatch */
export function scatterMeta(op: string): (args: NamedArgs) => TensorMeta {
  return ({ self, dim, index, src }) => {
    const at = wrapDim(dim as number, self.ndim, op);
    if (index.numel > 0) {
      checkIndexType(op, index.dtype as string);
      checkIndexShape(op, index.sizes as number[], self.sizes as number[], at, 'self');
      if (isTensor(src)) checkIndexShape(op, index.sizes as number[], src.sizes, null, 'src');
    }
    return {
      sizes: self.sizes,
      strides: formatStrides(self as Tensor, null),
      dtype: self.dtype,
      device: self.device,
    };
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
): (args: NamedArgs, outs: readonly Tensor[]) => void {
  return ({ self, dim, index, src, value }, [out]) => {
    const results = readNumbers(self as Tensor);
    const indices = readNumbers(index as Tensor);
    const at = wrapDim(dim as number, self.ndim);
    const shape = index.sizes as number[];
    let source: (i: number) => number;
    if (isTensor(src)) {
      source = sourceUnderIndex(shape, src);
    } else {
      const constant = scalarValue(value as ScalarLike);
      source = () => constant;
    }
    forEachIndexed(
      shape,
      self.sizes as number[],
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
  const inner = shape.slice(1).reduce((a, b) => a * b, 1);
  return Float64Array.from({ length: (shape[0] ?? 1) * inner }, (_, i) => Math.floor(i / inner));
}
