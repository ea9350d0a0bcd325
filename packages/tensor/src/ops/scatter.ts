/**
 * @file gather and scatter: reading and writing at an index per element.
 */
import type { ScalarLike } from '@tessera/shared';
import { callOp } from '../dispatch/dispatcher.js';
import { checkIndexShape, checkIndexType, forEachIndexed } from '../kernels/coordinates.js';
import { readNumbers, writeNumbers } from '../kernels/elements.js';
import { scalarValue } from '../kernels/pointwise-kernel.js';
import { formatStrides } from '../memory-format.js';
import { defineInplace } from '../op/inplace.js';
import { defineOp } from '../op/op-overload.js';
import type { NamedArgs, TensorMeta } from '../op/op-record.js';
import { contiguousStrides, wrapDim } from '../shape.js';
import { isTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';
import { zeros } from './factory.js';

const gatherOp = defineOp(
  'aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor',
  {
    meta: ({ self, dim, index }) => {
      checkIndexType('gather', index.dtype as string);
      checkIndexShape(
        'gather',
        index.sizes as number[],
        self.sizes as number[],
        wrapDim(dim as number, self.ndim, 'gather'),
        'self',
      );
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

function scatterMeta(op: string): (args: NamedArgs) => TensorMeta {
  return ({ self, dim, index, src }) => {
    const at = wrapDim(dim as number, self.ndim, op);
    checkIndexType(op, index.dtype as string);
    if (index.numel > 0) {
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

/** Kernel that combines old and new values at the indexed positions. */
function scatterKernel(
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
      // src may be larger than the index: only the part under the index is read.
      const values = readNumbers(src);
      const positions = new Int32Array(indices.length);
      forEachIndexed(
        shape,
        src.ndim === 0 ? [1] : src.sizes,
        0,
        coordinatesAlong(shape),
        op,
        (i, from) => (positions[i] = from),
      );
      source = (i) => values[positions[i]!]!;
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
