/**
 * @file gather and scatter: reading and writing at an index per element.
 */
import { denseMeta } from '../../kernels/suggest-format.js';
import { type ScalarLike, TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import {
  checkIndexShape,
  checkIndexType,
  indexedPositions,
  pick,
} from '../../kernels/coordinates.js';
import { readElements, readNumbers, writeNumbers } from '../../kernels/elements.js';
import { scatterKernel, scatterMeta } from '../../kernels/scatter-kernel.js';
import { defineInplace } from '../../op/inplace.js';
import { defineOp } from '../../op/op-overload.js';
import { wrapDim } from '../../shape.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { zeros } from '../factory/factory.js';
import { underIndex } from './under-index.js';

const gatherOp = defineOp(
  'aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor',
  {
    meta: ({ self, dim, index }) => {
      const at = wrapDim(dim, self.ndim, 'gather');
      // An empty index picks nothing, whatever its type and rank are.
      if (index.numel > 0) {
        checkIndexType('gather', index.dtype);
        checkIndexShape('gather', index.sizes, self.sizes, at, 'self');
      }
      return denseMeta(self, index.sizes);
    },
    kernel: ({ self, dim, index }, [out]) => {
      const values = readElements(self);
      const at = wrapDim(dim, self.ndim);
      const from = indexedPositions(index.sizes, self.sizes, at, readNumbers(index), 'gather');
      writeNumbers(out!, pick(values, from));
    },
    saved: ['index'],
    vjp: ({ self, dim, index }, { grad }) => ({
      self: () =>
        scatterAdd(zeros(self.sizes, { dtype: grad.dtype, device: grad.device }), dim, index, grad),
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
      self: () => scatter(grad, dim, index, 0),
      src: () => gather(grad, dim, index),
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
      self: () => scatter(grad, dim, index, 0),
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
      src: () => gather(grad, dim, index),
    }),
  },
);
const scatterSrcInplace = defineInplace(scatterSrcOp);
const scatterValueInplace = defineInplace(scatterValueOp);
const scatterAddInplace = defineInplace(scatterAddOp);

/** out[i][j] = self[index[i][j]][j] (for dim 0): one element per index. @throws index-out-of-range, shape-mismatch */
export function gather(self: Tensor, dim: number, index: Tensor): Tensor {
  return callOp(gatherOp, [self, dim, index, false]);
}

/** PyTorch's `reduce` has a function of its own. @throws invalid-argument */
function refuseOptions([first]: readonly unknown[]): void {
  if (first !== undefined)
    throw new TesseraError('invalid-argument', 'scatter has no options.', {
      hints: ["Write scatterReduce(…, 'sum')."],
    });
}

/** A copy of self with `src` (or a number) written at the indices along a dimension. @throws index-out-of-range, shape-mismatch */
export function scatter(self: Tensor, dim: number, index: Tensor, src: Tensor | ScalarLike): Tensor;
export function scatter(
  self: Tensor,
  dim: number,
  index: Tensor,
  src: Tensor | ScalarLike,
  ...options: []
): Tensor {
  refuseOptions(options);
  return callOp(isTensor(src) ? scatterSrcOp : scatterValueOp, [
    self,
    dim,
    index,
    underIndex(index, src),
  ]);
}

/** Writes `src` (or a number) at the indices along a dimension. */
export function scatter_(
  self: Tensor,
  dim: number,
  index: Tensor,
  src: Tensor | ScalarLike,
): Tensor;
export function scatter_(
  self: Tensor,
  dim: number,
  index: Tensor,
  src: Tensor | ScalarLike,
  ...options: []
): Tensor {
  refuseOptions(options);
  return callOp(isTensor(src) ? scatterSrcInplace : scatterValueInplace, [
    self,
    dim,
    index,
    underIndex(index, src),
  ]);
}

/** A copy of self with `src` added at the indices along a dimension; repeated indices add up. @throws index-out-of-range, shape-mismatch */
export function scatterAdd(self: Tensor, dim: number, index: Tensor, src: Tensor): Tensor {
  return callOp(scatterAddOp, [self, dim, index, underIndex(index, src)]);
}

/** Adds `src` at the indices along a dimension. */
export function scatterAdd_(self: Tensor, dim: number, index: Tensor, src: Tensor): Tensor {
  return callOp(scatterAddInplace, [self, dim, index, underIndex(index, src)]);
}
