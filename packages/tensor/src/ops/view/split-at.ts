/**
 * @file Views that cut a tensor at given positions or into equal sections, and the copying `unsafe_` splits.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { wrapDim } from '../../shape.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { readNumbers } from '../../kernels/elements.js';
import { slice } from './slice.js';
import { chunk, split } from './split.js';

/** @throws invalid-dim for a 0-d tensor, which cannot be cut */
function cutDim(self: Tensor, dim: number): number {
  if (self.ndim === 0)
    throw new TesseraError(
      'invalid-dim',
      'tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims',
      { hints: ['Reshape it to [1] first.'] },
    );
  return wrapDim(dim, self.ndim, 'tensor_split');
}

/** Parts between positions, as Python slices: negative positions count from the end. */
function cutAt(self: Tensor, positions: readonly number[], dim: number): Tensor[] {
  const at = cutDim(self, dim);
  return Array.from({ length: positions.length + 1 }, (_, i) =>
    slice(self, at, positions[i - 1] ?? 0, positions[i] ?? self.sizes[at]!),
  );
}

/** `sections` parts whose sizes differ by at most one, larger ones first. */
function cutInto(self: Tensor, sections: number, dim: number): Tensor[] {
  const at = cutDim(self, dim);
  if (!(sections > 0))
    throw new TesseraError(
      'invalid-argument',
      `number of sections must be larger than 0, got ${sections}`,
      { hints: ['Ask for at least one part.'] },
    );
  const size = self.sizes[at]!;
  const start = (i: number): number =>
    i * Math.floor(size / sections) + Math.min(i, size % sections);
  return Array.from({ length: sections }, (_, i) => slice(self, at, start(i), start(i + 1)));
}

const indicesOp = defineOp(
  'aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]',
  {
    decompose: ({ self, indices, dim }) => cutAt(self, indices, dim),
  },
);
const sectionsOp = defineOp(
  'aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]',
  {
    decompose: ({ self, sections, dim }) => cutInto(self, sections, dim),
  },
);
const tensorIndicesOp = defineOp(
  'aten::tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor(a)[]',
  {
    tags: ['data-dependent'],
    decompose: ({ self, tensor_indices_or_sections: where, dim }) => {
      if (where.dtype !== 'int64' || where.ndim > 1)
        throw new TesseraError(
          'dtype-mismatch',
          `tensor_split: places are an int64 tensor of at most one dimension, not ${where.ndim} dimensions of ${where.dtype}`,
          { hints: ["Use indices.to('int64')."] },
        );
      const positions = [...readNumbers(where)];
      return where.ndim === 0 ? cutInto(self, positions[0]!, dim) : cutAt(self, positions, dim);
    },
  },
);

/** Defines `hsplit`, `vsplit` or `dsplit`: tensor_split of one dimension, sections all equal. */
function defineAxisSplit(
  name: string,
  least: number,
  dimOf: (ndim: number) => number,
): (self: Tensor, where: number | readonly number[]) => Tensor[] {
  const check = (self: Tensor): number => {
    if (self.ndim < least)
      throw new TesseraError(
        'invalid-dim',
        `${name}: the tensor has ${self.ndim} dimensions, not at least ${least}`,
        { hints: [`Use unsqueeze() first, or tensorSplit().`] },
      );
    return dimOf(self.ndim);
  };
  const intOp = defineOp(`aten::${name}.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]`, {
    decompose: ({ self, sections }) => {
      const dim = check(self);
      const size = self.sizes[dim];
      if (!(sections > 0) || size % sections !== 0)
        throw new TesseraError(
          'invalid-argument',
          `${name}: dimension ${dim} of size ${size} is not divisible by ${sections}`,
          { hints: ['Use tensorSplit().'] },
        );
      return cutInto(self, sections, dim);
    },
  });
  const arrayOp = defineOp(
    `aten::${name}.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]`,
    {
      decompose: ({ self, indices }) => cutAt(self, indices, check(self)),
    },
  );
  return (self, where) => callOp(typeof where === 'number' ? intOp : arrayOp, [self, where]);
}

/** Parts of the same sizes that may be modified in place: to autograd each comes alone. */
function cutLike(self: Tensor, parts: readonly Tensor[], dim: number): Tensor[] {
  const at = wrapDim(dim, self.ndim);
  let end = 0;
  return parts.map(({ sizes }) => slice(self, at, end, (end += sizes[at]!)));
}

export const unsafeChunkOp: OpOverload<Tensor[]> = defineOp(
  'aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]',
  {
    decompose: ({ self, chunks, dim }) => cutLike(self, chunk(self, chunks, dim), dim),
  },
);
export const unsafeSplitOp: OpOverload<Tensor[]> = defineOp(
  'aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]',
  {
    decompose: ({ self, split_size, dim }) => cutLike(self, split(self, split_size, dim), dim),
  },
);
export const unsafeSplitWithSizesOp: OpOverload<Tensor[]> = defineOp(
  'aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]',
  {
    decompose: ({ self, split_sizes, dim }) => cutLike(self, split(self, split_sizes, dim), dim),
  },
);

/** Parts cut at positions, or into a number of nearly equal sections; a tensor holds either. @throws invalid-dim, invalid-argument */
export function tensorSplit(
  self: Tensor,
  where: number | readonly number[] | Tensor,
  dim = 0,
): Tensor[] {
  const op = isTensor(where) ? tensorIndicesOp : typeof where === 'number' ? sectionsOp : indicesOp;
  return callOp(op, [self, where, dim]);
}

/** Columns cut at positions or into equal parts (dimension 1; 0 for vectors). @throws invalid-dim, invalid-argument */
export const hsplit: (self: Tensor, where: number | readonly number[]) => Tensor[] =
  defineAxisSplit('hsplit', 1, (ndim) => (ndim === 1 ? 0 : 1));

/** Rows cut at positions or into equal parts (dimension 0). @throws invalid-dim, invalid-argument */
export const vsplit: (self: Tensor, where: number | readonly number[]) => Tensor[] =
  defineAxisSplit('vsplit', 2, () => 0);

/** Dimension 2 cut at positions or into equal parts. @throws invalid-dim, invalid-argument */
export const dsplit: (self: Tensor, where: number | readonly number[]) => Tensor[] =
  defineAxisSplit('dsplit', 3, () => 2);
