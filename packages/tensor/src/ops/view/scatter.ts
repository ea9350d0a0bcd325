/**
 * @file Pure counterparts of writing through a view: a copy of self with a part replaced.
 *
 * Functionalization turns `x[i] = y` into these.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readElements, writeNumbers } from '../../kernels/elements.js';
import { metaOfSelf } from '../../memory-format.js';
import { defineOp } from '../../op/op-overload.js';
import type { OpRecord, TensorMeta, ViewMeta } from '../../op/op-record.js';
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

type Scattered = { self: Tensor; src: Tensor };

function scatterMeta<Args extends Scattered>(
  name: string,
  part: (layout: Layout, args: Args) => ViewMeta,
): (args: Args) => TensorMeta {
  return (args) => {
    const { self, src } = args;
    const sizes = part(self, args).sizes;
    if (!sameNumbers(sizes, src.sizes)) {
      throw new TesseraError(
        'shape-mismatch',
        `${name}: expected src to have a size equal to the part of self. src size = ${formatSizes(src.sizes)}, part size = ${formatSizes(sizes)}`,
        { hints: ['Reshape or expand src first.'] },
      );
    }
    return metaOfSelf({ self });
  };
}

function scatterRecord<Args extends Scattered>(
  name: string,
  part: (layout: Layout, args: Args) => ViewMeta,
  scatter: (grad: Tensor, src: Tensor, args: Args) => Tensor,
  gather: (grad: Tensor, args: Args) => Tensor,
): OpRecord<Args, never> {
  return {
    meta: scatterMeta(name, part),
    kernel: (args, [out]) => {
      writeNumbers(out!, readElements(args.self));
      writeNumbers(partOf(out!, part(out!, args)), readElements(args.src));
    },
    vjp: (args, { grad }) => ({
      self: () => scatter(grad, zerosOf(args.src), args),
      src: () => gather(grad, args),
    }),
  };
}

const sliceScatterOp = defineOp(
  'aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor',
  scatterRecord(
    'slice_scatter',
    (layout, { dim, start, end, step }) => sliceView(layout, dim, start, end, step),
    (grad, src, { dim, start, end, step }) => sliceScatter(grad, src, dim, start, end, step),
    (grad, { dim, start, end, step }) => slice(grad, dim, start, end, step),
  ),
);
const selectScatterOp = defineOp(
  'aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor',
  scatterRecord(
    'select_scatter',
    (layout, { dim, index }) => selectView(layout, dim, index),
    (grad, src, { dim, index }) => selectScatter(grad, src, dim, index),
    (grad, { dim, index }) => select(grad, dim, index),
  ),
);
const diagonalScatterOp = defineOp(
  'aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor',
  scatterRecord(
    'diagonal_scatter',
    (layout, { offset, dim1, dim2 }) => diagonalView(layout, offset, dim1, dim2),
    (grad, src, { offset, dim1, dim2 }) => diagonalScatter(grad, src, offset, dim1, dim2),
    (grad, { offset, dim1, dim2 }) => diagonal(grad, offset, dim1, dim2),
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
  return callOp(sliceScatterOp, [self, src, dim, start, end, step]);
}

/** A copy of self with one index of a dimension replaced by src. @throws shape-mismatch, index-out-of-range */
export function selectScatter(self: Tensor, src: Tensor, dim: number, index: number): Tensor {
  return callOp(selectScatterOp, [self, src, dim, index]);
}

/** A copy of self with a diagonal replaced by src. @throws shape-mismatch */
export function diagonalScatter(self: Tensor, src: Tensor, offset = 0, dim1 = 0, dim2 = 1): Tensor {
  return callOp(diagonalScatterOp, [self, src, offset, dim1, dim2]);
}
