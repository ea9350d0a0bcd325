/**
 * @file Views that cut a tensor into several: split, chunk, unbind.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { ViewMeta } from '../../op/op-record.js';
import { wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { zeros } from '../factory/factory.js';
import { cat, stack } from '../arrange/join.js';
import { selectView, sliceView } from '../../kernels/view-geometry.js';

function partSizes(total: number, size: number): number[] {
  if (!(size > 0) && !(size === 0 && total === 0)) {
    throw new TesseraError('invalid-argument', `split: split_size must be positive, got ${size}`, {
      hints: ['Give the size of each part.'],
    });
  }
  const count = size === 0 ? 1 : Math.max(1, Math.ceil(total / size));
  return Array.from({ length: count }, (_, i) => Math.max(0, Math.min(size, total - i * size)));
}

/** The dimension that is cut. @throws invalid-dim */
function cutDim(self: Tensor, dim: number, op: string): number {
  if (self.ndim > 0) return wrapDim(dim, self.ndim, op);
  throw new TesseraError('invalid-dim', `${op} expects at least a 1-dimensional tensor`, {
    hints: ['A number has no parts.'],
  });
}

function splitViews(self: Tensor, sizes: readonly number[], dim: number): ViewMeta[] {
  let at = 0;
  return sizes.map((size) => sliceView(self, dim, at, (at += size), 1));
}

/** Gradient of parts joined again; parts without a gradient count as zeros. */
function joined(
  self: Tensor,
  grads: readonly (Tensor | null)[],
  sizes: readonly number[],
  dim: number,
): Tensor {
  const parts = grads.map((grad, i) => {
    if (grad !== null) return grad;
    const shape = [...self.sizes];
    shape[dim] = sizes[i]!;
    return zeros(shape, { dtype: self.dtype, device: self.device });
  });
  return cat(parts, dim);
}

export const splitOp: OpOverload<Tensor[]> = defineOp(
  'aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]',
  {
    view: ({ self, split_size, dim }) => {
      const at = cutDim(self, dim, 'split');
      return splitViews(self, partSizes(self.sizes[at], split_size), at);
    },
    vjp: ({ self, split_size, dim }, { grads }) => ({
      self: (): Tensor => {
        const at = wrapDim(dim, self.ndim);
        return joined(self, grads, partSizes(self.sizes[at], split_size), at);
      },
    }),
  },
);

export const splitSizesOp: OpOverload<Tensor[]> = defineOp(
  'aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]',
  {
    view: ({ self, split_sizes, dim }) => {
      const at = cutDim(self, dim, 'split_with_sizes');
      const sum = split_sizes.reduce((a, b) => a + b, 0);
      if (sum !== self.sizes[at]) {
        throw new TesseraError(
          'shape-mismatch',
          `split_with_sizes expects split_sizes to sum exactly to ${self.sizes[at]} (input tensor's size at dimension ${at}), but got split_sizes=[${split_sizes.join(', ')}]`,
          { hints: ['The parts must cover the dimension.'] },
        );
      }
      return splitViews(self, split_sizes, at);
    },
    vjp: ({ self, split_sizes, dim }, { grads }) => ({
      self: (): Tensor => joined(self, grads, split_sizes, wrapDim(dim, self.ndim)),
    }),
  },
);

const chunkOp = defineOp('aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]', {
  decompose: ({ self, chunks, dim }) => {
    if (!(chunks > 0))
      throw new TesseraError(
        'invalid-argument',
        `chunk expects \`chunks\` to be greater than 0, got: ${chunks}`,
        { hints: ['Ask for at least one chunk.'] },
      );
    const at = cutDim(self, dim, 'chunk');
    const size = Math.ceil(self.sizes[at] / chunks);
    // An empty dimension still gives the number of chunks asked for.
    if (size === 0) return callOp(splitSizesOp, [self, Array<number>(chunks).fill(0), at]);
    return callOp(splitOp, [self, size, at]);
  },
});

export const unbindOp: OpOverload<Tensor[]> = defineOp(
  'aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]',
  {
    view: ({ self, dim }) => {
      const at = cutDim(self, dim, 'unbind');
      return Array.from({ length: self.sizes[at] }, (_, i) => selectView(self, at, i));
    },
    vjp: ({ self, dim }, { grads }) => ({
      self: (): Tensor => {
        const at = wrapDim(dim, self.ndim);
        const shape = self.sizes.filter((_, i) => i !== at);
        return stack(
          grads.map((grad) => grad ?? zeros(shape, { dtype: self.dtype, device: self.device })),
          at,
        );
      },
    }),
  },
);

/** A part for each size of a list. */
type PartPerSize<S extends readonly number[]> = { -readonly [K in keyof S]: Tensor };

/** `split` as a method. */
export interface SplitMethods {
  /** Parts of `size` elements along a dimension; the last may be smaller. @throws invalid-argument, invalid-dim */
  split(size: number, dim?: number): Tensor[];
  /** Parts of given sizes along a dimension. @throws shape-mismatch, invalid-dim */
  split<const S extends readonly number[]>(sizes: S, dim?: number): PartPerSize<S>;
  /** Parts of one size, or of given ones. @throws invalid-argument, shape-mismatch, invalid-dim */
  split(size: number | readonly number[], dim?: number): Tensor[];
}

/** Parts of `size` elements along a dimension (the last may be smaller), or of given sizes. @throws shape-mismatch, invalid-dim */
export function split(self: Tensor, size: number, dim?: number): Tensor[];
export function split<const S extends readonly number[]>(
  self: Tensor,
  sizes: S,
  dim?: number,
): PartPerSize<S>;
export function split(self: Tensor, size: number | readonly number[], dim?: number): Tensor[];
export function split(self: Tensor, size: number | readonly number[], dim = 0): Tensor[] {
  return callOp(typeof size === 'number' ? splitOp : splitSizesOp, [self, size, dim]);
}

/** At most `chunks` parts of equal size along a dimension. @throws invalid-argument, invalid-dim */
export function chunk(self: Tensor, chunks: number, dim = 0): Tensor[] {
  return callOp(chunkOp, [self, chunks, dim]);
}

/** The sub-tensors along a dimension. @throws invalid-dim */
export function unbind(self: Tensor, dim = 0): Tensor[] {
  return callOp(unbindOp, [self, dim]);
}
