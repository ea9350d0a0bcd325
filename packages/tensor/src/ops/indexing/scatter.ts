/**
 * @file gather and scatter: reading and writing at an index per element.
 */
import type { ScalarLike } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { checkIndexShape, checkIndexType, forEachIndexed } from '../../kernels/coordinates.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { scatterKernel, scatterMeta } from '../../kernels/scatter-kernel.js';
import { defineInplace } from '../../op/inplace.js';
import { defineOp } from '../../op/op-overload.js';
import { contiguousStrides, wrapDim } from '../../shape.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { zeros } from '../factory/factory.js';

const gatherOp = defineOp(
  'aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor',
  {
    meta: ({ self, dim, index }) => {
      const at = wrapDim(dim as number, self.ndim, 'gather');
      // An empty index picks nothing, whatever its type and rank are.
      if (index.numel > 0) {
        checkIndexType('gather', index.dtype as string);
        checkIndexShape('gather', index.sizes as number[], self.sizes as number[], at, 'self');
      }
      return {
        sizes: index.sizes,
        strides: contiguousStrides(index.sizes as number[]),
        dtype: self.dtype,
        device: self.device,
      };
    },
    kernel: ({ self, dim, index }, [out]) => {
      const values = readNumbers(self as Tensor);
      const results = new Float64Array(out!.numel);
      forEachIndexed(
        index.sizes as number[],
        self.sizes as number[],
        wrapDim(dim as number, self.ndim),
        readNumbers(index as Tensor),
        'gather',
        (i, at) => {
          results[i] = values[at]!;
        },
      );
      writeNumbers(out!, results);
    },
    saved: ['index'],
    vjp: ({ self, dim, index }, { grad }) => ({
      self: () =>
        scatterAdd(
          zeros(self.sizes as number[], { dtype: grad.dtype, device: grad.device }),
          dim as number,
          index as Tensor,
          grad,
        ),
    }),
  },
);

const scatterSrcOp = defineOp(
  'aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor',
  {
    meta: scatterMeta('scatter'),
    kernel: scatterKernel('scatter', (_old, value) => value),
    saved: ['index'],
    vjp: ({ dim, index }, { grad }) => ({
      self: () => scatter(grad, dim as number, index as Tensor, 0),
      src: () => gather(grad, dim as number, index as Tensor),
    }),
  },
);
const scatterValueOp = defineOp(
  'aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor',
  {
    meta: scatterMeta('scatter'),
    kernel: scatterKernel('scatter', (_old, value) => value),
    saved: ['index'],
    vjp: ({ dim, index }, { grad }) => ({
      self: () => scatter(grad, dim as number, index as Tensor, 0),
    }),
  },
);
const scatterAddOp = defineOp(
  'aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor',
  {
    meta: scatterMeta('scatter_add'),
    kernel: scatterKernel('scatter_add', (old, value) => old + value),
    saved: ['index'],
    vjp: ({ dim, index }, { grad }) => ({
      self: grad,
      src: () => gather(grad, dim as number, index as Tensor),
    }),
  },
);
const scatterSrcInplace = defineInplace(scatterSrcOp);
const scatterValueInplace = defineInplace(scatterValueOp);
const scatterAddInplace = defineInplace(scatterAddOp);

/** out[i][j] = self[index[i][j]][j] (for dim 0): one element per index. @throws index-out-of-range, shape-mismatch */
export function gather(self: Tensor, dim: number, index: Tensor): Tensor {
  return callOp(gatherOp, [self, dim, index, false]) as Tensor;
}

/** A copy of self with `src` (or a number) written at the indices along a dimension. @throws index-out-of-range, shape-mismatch */
export function scatter(
  self: Tensor,
  dim: number,
  index: Tensor,
  src: Tensor | ScalarLike,
): Tensor {
  return callOp(isTensor(src) ? scatterSrcOp : scatterValueOp, [self, dim, index, src]) as Tensor;
}

/** Writes `src` (or a number) at the indices along a dimension. */
export function scatter_(
  self: Tensor,
  dim: number,
  index: Tensor,
  src: Tensor | ScalarLike,
): Tensor {
  return callOp(isTensor(src) ? scatterSrcInplace : scatterValueInplace, [
    self,
    dim,
    index,
    src,
  ]) as Tensor;
}

/** A copy of self with `src` added at the indices along a dimension; repeated indices add up. @throws index-out-of-range, shape-mismatch */
export function scatterAdd(self: Tensor, dim: number, index: Tensor, src: Tensor): Tensor {
  return callOp(scatterAddOp, [self, dim, index, src]) as Tensor;
}

/** Adds `src` at the indices along a dimension. */
export function scatterAdd_(self: Tensor, dim: number, index: Tensor, src: Tensor): Tensor {
  return callOp(scatterAddInplace, [self, dim, index, src]) as Tensor;
}
