/**
 * @file Views: other layouts of the same memory.
 *
 * A view's record has `view` (the layout on the storage) instead of meta and kernel. `reshape` and
 * friends are composites that view when they can and copy when they must.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import {
  expandStrides,
  formatSizes,
  inferShape,
  sameNumbers,
  viewStrides,
  wrapDim,
} from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { clone } from '../arrange/copy.js';

export const viewOp: OpOverload<Tensor> = defineOp(
  'aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)',
  {
    view: ({ self, size }) => {
      const sizes = inferShape(size, self.numel);
      const strides = viewStrides(self.sizes, self.strides, sizes);
      if (strides === null) {
        throw new TesseraError(
          'shape-mismatch',
          `view: view size ${formatSizes(sizes)} is not compatible with input tensor's size ${formatSizes(self.sizes)} and stride ${formatSizes(self.strides)} (at least one dimension spans across two contiguous subspaces).`,
          { hints: ['Use reshape(), which copies when it must.'] },
        );
      }
      return { sizes, strides, offset: self.storageOffset };
    },
    vjp: ({ self }, { grad }) => ({ self: () => reshape(grad, self.sizes) }),
  },
);

export const permuteOp: OpOverload<Tensor> = defineOp(
  'aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)',
  {
    view: ({ self, dims }) => {
      const order = dims.map((dim) => wrapDim(dim, self.ndim, 'permute'));
      if (order.length !== self.ndim || new Set(order).size !== order.length) {
        throw new TesseraError(
          'invalid-dim',
          `permute: dims ${formatSizes(dims)} do not name each of the ${self.ndim} dimensions once.`,
          {
            hints: ['List every dimension exactly once.'],
          },
        );
      }
      return {
        sizes: order.map((d) => self.sizes[d]),
        strides: order.map((d) => self.strides[d]),
        offset: self.storageOffset,
      };
    },
    vjp: ({ self, dims }, { grad }) => ({
      self: () => {
        const inverse: number[] = [];
        dims.forEach((dim, i) => (inverse[wrapDim(dim, self.ndim)] = i));
        return permute(grad, inverse);
      },
    }),
  },
);

export const expandOp: OpOverload<Tensor> = defineOp(
  'aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)',
  {
    view: ({ self, size }) => {
      const lead = size.length - self.ndim;
      const sizes = size.map((s, i) => (s === -1 && i >= lead ? self.sizes[i - lead] : s));
      return {
        sizes,
        strides: expandStrides(self.sizes, self.strides, sizes),
        offset: self.storageOffset,
      };
    },
    // The engine sums the gradient to the input's shape.
    vjp: (_args, { grad }) => ({ self: grad }),
  },
);

/** Another shape over the same memory. @throws shape-mismatch @see torch.Tensor.view */
export function view(self: Tensor, size: readonly number[]): Tensor {
  return callOp(viewOp, [self, size]);
}

/** Dimensions in another order. */
export function permute(self: Tensor, dims: readonly number[]): Tensor {
  return callOp(permuteOp, [self, dims]);
}

/** Size-1 dimensions repeated without copying; -1 keeps a size. @throws shape-mismatch */
export function expand(self: Tensor, size: readonly number[]): Tensor {
  return callOp(expandOp, [self, size, false]);
}

const reshapeOp = defineOp('aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)', {
  decompose: ({ self, shape }) => {
    const sizes = inferShape(shape, self.numel);
    if (sameNumbers(sizes, self.sizes)) return view(self, sizes);
    if (viewStrides(self.sizes, self.strides, sizes) !== null) return view(self, sizes);
    return view(clone(self, { memoryFormat: 'contiguous' }), sizes);
  },
});

export const unsafeViewOp: OpOverload<Tensor> = defineOp(
  'aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor',
  {
    decompose: ({ self, size }) => view(self, size),
  },
);
export const broadcastToOp: OpOverload<Tensor> = defineOp(
  'aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)',
  {
    decompose: ({ self, size }) => expand(self, size),
  },
);

/** Another shape; copies only when a view is impossible. @throws shape-mismatch */
export function reshape(self: Tensor, shape: readonly number[]): Tensor {
  return callOp(reshapeOp, [self, shape]);
}
