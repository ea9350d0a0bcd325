/**
 * @file Views that reorder, add or drop dimensions.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { OpRecord, ViewMeta } from '../../op/op-record.js';
import { inferShape, refuseMoreDims, wrapDim, wrapDims, numelOf } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { expand, permute, reshape, view } from './view.js';

function swapped(self: Tensor, a: number, b: number): ViewMeta {
  const sizes = [...self.sizes];
  const strides = [...self.strides];
  [sizes[a], sizes[b]] = [sizes[b]!, sizes[a]!];
  [strides[a], strides[b]] = [strides[b]!, strides[a]!];
  return { sizes, strides, offset: self.storageOffset };
}

export const transposeOp: OpOverload<Tensor> = defineOp(
  'aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)',
  {
    view: ({ self, dim0, dim1 }) => {
      const a = wrapDim(dim0, self.ndim, 'transpose');
      const b = wrapDim(dim1, self.ndim, 'transpose');
      return self.ndim === 0
        ? { sizes: [], strides: [], offset: self.storageOffset }
        : swapped(self, a, b);
    },
    vjp: ({ dim0, dim1 }, { grad }) => ({
      self: () => transpose(grad, dim0, dim1),
    }),
  },
);

export const tOp: OpOverload<Tensor> = defineOp('aten::t(Tensor(a) self) -> Tensor(a)', {
  view: ({ self }) => {
    if (self.ndim > 2) {
      throw new TesseraError(
        'invalid-dim',
        `t() expects a tensor with <= 2 dimensions, but self is ${self.ndim}D`,
        { hints: ['Use transpose(dim0, dim1) or permute(dims).'] },
      );
    }
    return self.ndim < 2
      ? { sizes: self.sizes, strides: self.strides, offset: self.storageOffset }
      : swapped(self, 0, 1);
  },
  vjp: (_args, { grad }) => ({ self: () => t(grad) }),
});

/** The view without the dims of size 1 among `dims`; its gradient gets them back. */
function squeezeRecord<Args extends { self: Tensor }>(
  dimsOf: (args: Args) => readonly number[],
): OpRecord<Args, never> {
  return {
    view: (args) => {
      const { self } = args;
      const dims = dimsOf(args);
      const keep = (_: number, i: number): boolean => !(self.sizes[i] === 1 && dims.includes(i));
      return {
        sizes: self.sizes.filter(keep),
        strides: self.strides.filter(keep),
        offset: self.storageOffset,
      };
    },
    vjp: ({ self }, { grad }) => ({ self: () => reshape(grad, self.sizes) }),
  };
}

export const squeezeOp: OpOverload<Tensor> = defineOp(
  'aten::squeeze(Tensor(a) self) -> Tensor(a)',
  squeezeRecord(({ self }) => self.sizes.map((_, i) => i)),
);
export const squeezeDimOp: OpOverload<Tensor> = defineOp(
  'aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)',
  squeezeRecord(({ self, dim }) => [wrapDim(dim, self.ndim, 'squeeze')]),
);
export const squeezeDimsOp: OpOverload<Tensor> = defineOp(
  'aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)',
  squeezeRecord(({ self, dim }) => (dim.length === 0 ? [] : wrapDims(dim, self.ndim, 'squeeze'))),
);

export const unsqueezeOp: OpOverload<Tensor> = defineOp(
  'aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)',
  {
    view: ({ self, dim }) => {
      const at = wrapDim(dim, self.ndim + 1, 'unsqueeze');
      const stride = at < self.ndim ? self.sizes[at] * self.strides[at] : 1;
      const insert = (list: readonly number[], value: number): number[] => [
        ...list.slice(0, at),
        value,
        ...list.slice(at),
      ];
      return {
        sizes: insert(self.sizes, 1),
        strides: insert(self.strides, stride),
        offset: self.storageOffset,
      };
    },
    vjp: ({ self, dim }, { grad }) => ({
      self: () => squeeze(grad, wrapDim(dim, self.ndim + 1)),
    }),
  },
);

const flattenOp = defineOp(
  'aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)',
  {
    decompose: ({ self, start_dim, end_dim }) => {
      const start = wrapDim(start_dim, self.ndim, 'flatten');
      const end = wrapDim(end_dim, self.ndim, 'flatten');
      if (start > end) {
        throw new TesseraError(
          'invalid-dim',
          `flatten: start_dim ${start} cannot come after end_dim ${end}`,
          { hints: ['Give the first dimension to merge, then the last.'] },
        );
      }
      if (self.ndim === 0) return reshape(self, [1]);
      if (start === end) return self;
      const merged = numelOf(self.sizes.slice(start, end + 1));
      return reshape(self, [...self.sizes.slice(0, start), merged, ...self.sizes.slice(end + 1)]);
    },
  },
);

const unflattenOp = defineOp(
  'aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)',
  {
    decompose: ({ self, dim, sizes }) => {
      const at = wrapDim(dim, self.ndim, 'unflatten');
      return view(self, [
        ...self.sizes.slice(0, at),
        ...inferShape(sizes, self.sizes[at]),
        ...self.sizes.slice(at + 1),
      ]);
    },
  },
);

const movedimOp = defineOp(
  'aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)',
  {
    decompose: ({ self, source, destination }) => {
      const from = wrapDims(source, self.ndim, 'movedim');
      const to = wrapDims(destination, self.ndim, 'movedim');
      if (from.length !== to.length) {
        throw new TesseraError(
          'invalid-argument',
          `movedim: source has ${from.length} dims, destination ${to.length}`,
          { hints: ['Give a destination for each source.'] },
        );
      }
      const rest = self.sizes.map((_, i) => i).filter((i) => !from.includes(i));
      const order = self.sizes.map((_, i) => (to.includes(i) ? from[to.indexOf(i)]! : -1));
      return permute(
        self,
        order.map((dim) => (dim < 0 ? rest.shift()! : dim)),
      );
    },
  },
);

const viewAsOp = defineOp('aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)', {
  decompose: ({ self, other }) => view(self, other.sizes),
});
const expandAsOp = defineOp('aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)', {
  decompose: ({ self, other }) => expand(self, other.sizes),
});
const reshapeAsOp = defineOp('aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)', {
  decompose: ({ self, other }) => reshape(self, other.sizes),
});
const mTOp = defineOp('aten::mT(Tensor(a) self) -> Tensor(a)', {
  decompose: ({ self }) => (self.ndim === 0 ? self : transpose(self, -2, -1)),
});

/** Two dimensions swapped. @throws invalid-dim */
export function transpose(self: Tensor, dim0: number, dim1: number): Tensor {
  return callOp(transposeOp, [self, dim0, dim1]);
}

/** The transpose of a matrix, [M, N] → [N, M]; vectors stay. @throws invalid-dim above two dimensions */
export function t(self: Tensor): Tensor {
  return callOp(tOp, [self]);
}

/** The last two dimensions swapped. @throws invalid-dim */
export function mT(self: Tensor): Tensor {
  return callOp(mTOp, [self]);
}

/** Without dimensions of size 1: all, or only those named. @throws invalid-dim */
export function squeeze(self: Tensor, dim: number | readonly number[] | null = null): Tensor {
  refuseMoreDims('squeeze', arguments);
  if (dim === null) return callOp(squeezeOp, [self]);
  return callOp(typeof dim === 'number' ? squeezeDimOp : squeezeDimsOp, [self, dim]);
}

/** With a dimension of size 1 inserted at `dim`. @throws invalid-dim */
export function unsqueeze(self: Tensor, dim: number): Tensor {
  return callOp(unsqueezeOp, [self, dim]);
}

/** Dimensions startDim to endDim merged into one; copies only when a view is impossible. @throws invalid-dim */
export function flatten(self: Tensor, startDim = 0, endDim = -1): Tensor {
  return callOp(flattenOp, [self, startDim, endDim]);
}

/** One dimension split into several; one of `sizes` may be -1. @throws invalid-dim, shape-mismatch */
export function unflatten(self: Tensor, dim: number, sizes: readonly number[]): Tensor {
  return callOp(unflattenOp, [self, dim, sizes]);
}

/** Dimensions moved to other places, the rest keep their order. @throws invalid-dim */
export function movedim(
  self: Tensor,
  source: number | readonly number[],
  destination: number | readonly number[],
): Tensor {
  const list = (dims: number | readonly number[]): readonly number[] =>
    typeof dims === 'number' ? [dims] : dims;
  return callOp(movedimOp, [self, list(source), list(destination)]);
}

/** self in the shape of another tensor. @throws shape-mismatch */
export function viewAs(self: Tensor, other: Tensor): Tensor {
  return callOp(viewAsOp, [self, other]);
}

/** self expanded to the shape of another tensor. @throws shape-mismatch */
export function expandAs(self: Tensor, other: Tensor): Tensor {
  return callOp(expandAsOp, [self, other]);
}

/** self reshaped to the shape of another tensor. @throws shape-mismatch */
export function reshapeAs(self: Tensor, other: Tensor): Tensor {
  return callOp(reshapeAsOp, [self, other]);
}
