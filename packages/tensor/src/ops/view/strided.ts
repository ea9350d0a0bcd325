/**
 * @file Views given by raw geometry: as_strided; and as_strided_scatter.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { formatStrides } from '../../memory-format.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { formatSizes, hasInternalOverlap, sameNumbers, storageExtent } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { storageBytes } from '../../tensor-factory.js';
import { arange } from '../factory/range.js';
import { ones, zeros } from '../factory/factory.js';
import { scatterAdd } from '../indexing/scatter.js';
import { div } from '../pointwise/division.js';
import { reshape } from './view.js';
import { partOf } from '../../kernels/view-geometry.js';

/** @throws invalid-argument */
function checkGeometry(size: readonly number[], stride: readonly number[], offset: number): void {
  if (size.length !== stride.length || [...size, ...stride, offset].some((n) => n < 0)) {
    throw new TesseraError(
      'invalid-argument',
      `as_strided: size ${formatSizes(size)}, stride ${formatSizes(stride)} and offset ${offset} do not describe a view.`,
      { hints: ['Give one stride per size.'] },
    );
  }
}

export const asStridedOp: OpOverload<Tensor> = defineOp(
  'aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)',
  {
    view: ({ self, size, stride, storage_offset }) => {
      const offset = storage_offset ?? self.storageOffset;
      checkGeometry(size, stride, offset);
      const needed = offset + storageExtent(size, stride);
      if (
        self.storageOrNull !== null &&
        storageExtent(size, stride) > 0 &&
        storageBytes(self.device, self.dtype, needed) > self.storage.nbytes &&
        !self.isFake
      ) {
        throw new TesseraError(
          'shape-mismatch',
          `setStorage: sizes ${formatSizes(size)}, strides ${formatSizes(stride)}, storage offset ${offset} are out of bounds for storage of ${self.storage.nbytes} bytes`,
          { hints: ['Stay inside the memory of the tensor.'] },
        );
      }
      return { sizes: size, strides: stride, offset };
    },
    vjp: ({ self, size, stride, storage_offset }, { grad }) => ({
      self: () => asStridedGradient(grad, self, size, stride, storage_offset ?? self.storageOffset),
    }),
  },
);

/** Memory of `extent` elements with `values` added in at each position of a geometry. */
function gathered(
  values: Tensor,
  extent: number,
  size: readonly number[],
  stride: readonly number[],
  offset: number,
): Tensor {
  const flat = zeros([extent], { dtype: values.dtype, device: values.device });
  if (!hasInternalOverlap(size, stride))
    return asStridedScatter(flat, values, size, stride, offset);
  const positions = asStrided(
    arange(extent, { dtype: 'int64', device: values.device }),
    size,
    stride,
    offset,
  );
  return scatterAdd(flat, 0, reshape(positions, [-1]), reshape(values, [-1]));
}

function asStridedGradient(
  grad: Tensor,
  self: Tensor,
  size: readonly number[],
  stride: readonly number[],
  offset: number,
): Tensor {
  const base = Math.min(offset, self.storageOffset);
  const extent =
    Math.max(
      offset + storageExtent(size, stride),
      self.storageOffset + storageExtent(self.sizes, self.strides),
    ) - base;
  let flat = gathered(grad, extent, size, stride, offset - base);
  if (hasInternalOverlap(self.sizes, self.strides)) {
    // Positions that several elements share split the gradient among them.
    const count = gathered(
      ones(self.sizes, { dtype: grad.dtype, device: grad.device }),
      extent,
      self.sizes,
      self.strides,
      self.storageOffset - base,
    );
    flat = div(flat, count);
  }
  return asStrided(flat, self.sizes, self.strides, self.storageOffset - base);
}

const asStridedScatterOp = defineOp(
  'aten::as_strided_scatter(Tensor self, Tensor src, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor',
  {
    meta: ({ self, src, size, stride, storage_offset }) => {
      checkGeometry(size, stride, storage_offset ?? 0);
      if (!sameNumbers(src.sizes, size)) {
        throw new TesseraError(
          'shape-mismatch',
          `as_strided_scatter: src has size ${formatSizes(src.sizes)}, the slice of self ${formatSizes(size)}`,
          { hints: ['Reshape or expand src first.'] },
        );
      }
      const strides = formatStrides(self, null);
      const extent = storageExtent(size, stride);
      const held = storageExtent(self.sizes, strides);
      if (extent > 0 && (storage_offset ?? 0) + extent > held)
        throw new TesseraError(
          'shape-mismatch',
          `as_strided_scatter: sizes ${formatSizes(size)}, strides ${formatSizes(stride)}, storage offset ${storage_offset ?? 0} are out of bounds for a tensor of ${held} elements`,
          { hints: ['Stay inside the memory of the tensor.'] },
        );
      return {
        sizes: self.sizes,
        strides,
        dtype: self.dtype,
        device: self.device,
      };
    },
    kernel: ({ self, src, size, stride, storage_offset }, [out]) => {
      writeNumbers(out!, readNumbers(self));
      writeNumbers(
        partOf(out!, {
          sizes: size,
          strides: stride,
          offset: storage_offset ?? 0,
        }),
        readNumbers(src),
      );
    },
    vjp: ({ src, size, stride, storage_offset }, { grad }) => ({
      self: () =>
        asStridedScatter(
          grad,
          zeros(src.sizes, { dtype: grad.dtype, device: grad.device }),
          size,
          stride,
          storage_offset,
        ),
      src: () => asStrided(grad.contiguous(), size, stride, storage_offset ?? 0),
    }),
  },
);

/** A view with given sizes, strides and offset (elements; null keeps self's). @throws invalid-argument, shape-mismatch */
export function asStrided(
  self: Tensor,
  size: readonly number[],
  stride: readonly number[],
  storageOffset: number | null = null,
): Tensor {
  return callOp(asStridedOp, [self, size, stride, storageOffset]);
}

/**
 * A copy of self with the elements at a geometry replaced by src; sizes, strides and offset are of the memory of self,
 * and stay. Of a tensor whose elements share memory the copy is dense, and the geometry that of the copy.
 *
 * @throws shape-mismatch, invalid-argument
 */
export function asStridedScatter(
  self: Tensor,
  src: Tensor,
  size: readonly number[],
  stride: readonly number[],
  storageOffset: number | null = null,
): Tensor {
  const { sizes, strides, storageOffset: start } = self;
  const write = (whole: Tensor, offset: number | null): Tensor =>
    callOp(asStridedScatterOp, [whole, src, size, stride, offset]);
  const extent = start + storageExtent(sizes, strides);
  if (extent === self.numel || hasInternalOverlap(sizes, strides))
    return write(self, storageOffset);
  const memory = asStrided(self, [extent], [1], 0);
  return asStrided(write(memory, storageOffset ?? start), sizes, strides, start);
}
