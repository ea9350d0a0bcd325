/**
 * @file Pure counterparts of writing through a view: a copy of self with a part replaced.
 *
 * Functionalization turns `x[i] = y` into these.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { formatStrides } from '../../memory-format.js';
import { defineOp } from '../../op/op-overload.js';
import type { NamedArgs, OpRecord, TensorMeta, ViewMeta } from '../../op/op-record.js';
import { formatSizes, sameNumbers } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { zeros } from '../factory/factory.js';
import {
  type Layout,
  diagonalView,
  partOf,
  selectView,
  sliceView,
} from '../../kernels/view-geometry.js';
import { diagonal, select, slice } from './slice.js';

/** Zeros of the shape of a shape-only source. */
function zerosOf(src: Tensor): Tensor {
  return zeros(src.sizes, { dtype: src.dtype, device: src.device });
}

function scatterMeta(
  name: string,
  part: (layout: Layout, args: NamedArgs) => ViewMeta,
): (args: NamedArgs) => TensorMeta {
  return (args) => {
    const { self, src } = args;
    const sizes = part(self as Tensor, args).sizes;
    if (!sameNumbers(sizes, src.sizes as number[])) {
      throw new TesseraError(
        'shape-mismatch',
        `${name}: expected src to have a size equal to the part of self. src size = ${formatSizes(src.sizes)}, part size = ${formatSizes(sizes)}`,
        { hints: ['Reshape or expand src first.'] },
      );
    }
    return {
      sizes: self.sizes,
      strides: formatStrides(self as Tensor, null),
      dtype: self.dtype,
      device: self.device,
    };
  };
}

function scatterRecord(
  name: string,
  part: (layout: Layout, args: NamedArgs) => ViewMeta,
  scatter: (grad: Tensor, src: Tensor, args: NamedArgs) => Tensor,
  gather: (grad: Tensor, args: NamedArgs) => Tensor,
): OpRecord {
  return {
    meta: scatterMeta(name, part),
    kernel: (args, [out]) => {
      writeNumbers(out!, readNumbers(args.self as Tensor));
      writeNumbers(partOf(out!, part(out!, args)), readNumbers(args.src as Tensor));
    },
    vjp: (args, { grad }) => ({
      self: () => scatter(grad, zerosOf(args.src as Tensor), args),
      src: () => gather(grad, args),
    }),
  };
}

const sliceScatterOp = defineOp(
  'aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor',
  scatterRecord(
    'slice_scatter',
    (layout, { dim, start, end, step }) =>
      sliceView(
        layout,
        dim as number,
        start as number | null,
        end as number | null,
        step as number,
      ),
    (grad, src, { dim, start, end, step }) =>
      sliceScatter(
        grad,
        src,
        dim as number,
        start as number | null,
        end as number | null,
        step as number,
      ),
    (grad, { dim, start, end, step }) =>
      slice(grad, dim as number, start as number | null, end as number | null, step as number),
  ),
);
const selectScatterOp = defineOp(
  'aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor',
  scatterRecord(
    'select_scatter',
    (layout, { dim, index }) => selectView(layout, dim as number, index as number),
    (grad, src, { dim, index }) => selectScatter(grad, src, dim as number, index as number),
    (grad, { dim, index }) => select(grad, dim as number, index as number),
  ),
);
const diagonalScatterOp = defineOp(
  'aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor',
  scatterRecord(
    'diagonal_scatter',
    (layout, { offset, dim1, dim2 }) =>
      diagonalView(layout, offset as number, dim1 as number, dim2 as number),
    (grad, src, { offset, dim1, dim2 }) =>
      diagonalScatter(grad, src, offset as number, dim1 as number, dim2 as number),
    (grad, { offset, dim1, dim2 }) =>
      diagonal(grad, offset as number, dim1 as number, dim2 as number),
  ),
);

/** A copy of self with a slice replaced by src. @throws shape-mismatch */
export function sliceScatter(
  self: Tensor,
  src: Tensor,
  dim = 0,
  start: number | null = null,
  end: number | null = null,
  step = 1,
): Tensor {
  return callOp(sliceScatterOp, [self, src, dim, start, end, step]) as Tensor;
}

/** A copy of self with one index of a dimension replaced by src. @throws shape-mismatch, index-out-of-range */
export function selectScatter(self: Tensor, src: Tensor, dim: number, index: number): Tensor {
  return callOp(selectScatterOp, [self, src, dim, index]) as Tensor;
}

/** A copy of self with a diagonal replaced by src. @throws shape-mismatch */
export function diagonalScatter(self: Tensor, src: Tensor, offset = 0, dim1 = 0, dim2 = 1): Tensor {
  return callOp(diagonalScatterOp, [self, src, offset, dim1, dim2]) as Tensor;
}
