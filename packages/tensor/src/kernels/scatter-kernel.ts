/**
 * @file Reference kernels and meta rule of scatters along a dimension.
 */
import type { ScalarLike } from '@tessera/shared';
import type { TensorMeta } from '../op/op-record.js';
import { contiguousStrides, numelOf, sameNumbers, wrapDim } from '../shape.js';
import type { Tensor } from '../tensor.js';
import { checkIndexShape, checkIndexType, indexedPositions } from './coordinates.js';
import {
  type Elements,
  forEachOffset,
  readElements,
  readNumbers,
  roomFor,
  writeNumbers,
} from './elements.js';
import { exactIn } from './integer-arithmetic.js';
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

/** Elements of `src` under an index of a shape, which may be smaller. */
export function sourceUnderIndex(shape: readonly number[], src: Tensor): Elements {
  const values = readElements(src);
  if (sameNumbers(shape, src.sizes)) return values;
  const under = roomFor(src.dtype, numelOf(shape));
  forEachOffset(shape, contiguousStrides(src.sizes), (i, from) => {
    under[i] = values[from]!;
  });
  return under;
}

/** Kernel that combines old and new values at the indexed positions. */
export function scatterKernel(
  op: string,
  combine: (old: number, value: number) => number,
): (args: ScatterArgs, outs: readonly Tensor[]) => void {
  return ({ self, dim, index, src, value }, [out]) => {
    const results = readElements(self);
    const join = src ? exactIn(self.dtype, combine) : combine;
    const at = wrapDim(dim, self.ndim);
    const to = indexedPositions(index.sizes, self.sizes, at, readNumbers(index), op);
    const source =
      src === undefined
        ? new Float64Array(to.length).fill(scalarValue(value!))
        : sourceUnderIndex(index.sizes, src);
    for (let i = 0; i < to.length; i++) results[to[i]!] = join(results[to[i]!]!, source[i]!);
    writeNumbers(out!, results);
  };
}
