/**
 * @file Views of a part of a tensor: select, slice, narrow, diagonal; and their backward ops.
 *
 * The backward of a partial view puts the gradient into zeros; as an op it stays one node in a graph.
 */
import { denseMeta } from '../../kernels/suggest-format.js';
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { writeNumbers, readNumbers } from '../../kernels/elements.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { OpRecord, ViewMeta } from '../../op/op-record.js';
import {
  type Layout,
  SLICE_END,
  diagonalView,
  partOf,
  selectView,
  sliceView,
} from '../../kernels/view-geometry.js';
import { isIntegral } from '../../dtype.js';
import { checkGradient, expandStrides, wrapDim } from '../../shape.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';

type PartGradient = { grad_output: Tensor; input_sizes: readonly number[] };

/** Record of the backward op of a partial view: zeros with the gradient in the part. */
function backwardRecord<Args extends PartGradient>(
  part: (out: Layout, args: Args) => ViewMeta,
  forward: (grad: Tensor, args: Args) => Tensor,
): OpRecord<Args, never> {
  return {
    meta: (args) => {
      const { grad_output: grad, input_sizes } = args;
      const meta = denseMeta(grad, input_sizes);
      expandStrides(grad.sizes, grad.strides, part({ ...meta, storageOffset: 0 }, args).sizes);
      return meta;
    },
    kernel: (args, [out]) => {
      writeNumbers(out!, new Float64Array(out!.numel));
      const target = partOf(out!, part(out!, args));
      writeNumbers(target, readNumbers(args.grad_output, target.sizes));
    },
    vjp: (args, { grad }) => ({ grad_output: () => forward(grad, args) }),
  };
}

const selectBackwardOp = defineOp(
  'aten::select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor',
  backwardRecord(
    (out, { dim, index }) => selectView(out, dim, index),
    (grad, { dim, index }) => select(grad, dim, index),
  ),
);
const sliceBackwardOp = defineOp(
  'aten::slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> Tensor',
  backwardRecord(
    (out, { grad_output, dim, start, end, step }) => {
      const view = sliceView(out, dim, start, end, step);
      checkGradient('slice', grad_output, view.sizes);
      return view;
    },
    (grad, { dim, start, end, step }) => slice(grad, dim, start, end, step),
  ),
);
const diagonalBackwardOp = defineOp(
  'aten::diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor',
  backwardRecord(
    (out, { offset, dim1, dim2 }) => diagonalView(out, offset, dim1, dim2),
    (grad, { offset, dim1, dim2 }) => diagonal(grad, offset, dim1, dim2),
  ),
);

export const selectOp: OpOverload<Tensor> = defineOp(
  'aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)',
  {
    view: ({ self, dim, index }) => selectView(self, dim, index),
    vjp: ({ self, dim, index }, { grad }) => ({
      self: () => callOp(selectBackwardOp, [grad, self.sizes, dim, index]),
    }),
  },
);
export const sliceOp: OpOverload<Tensor> = defineOp(
  'aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)',
  {
    view: ({ self, dim, start, end, step }) => sliceView(self, dim, start, end, step),
    vjp: ({ self, dim, start, end, step }, { grad }) => ({
      self: () =>
        callOp(sliceBackwardOp, [grad, self.sizes, dim, start ?? 0, end ?? SLICE_END, step]),
    }),
  },
);
export const diagonalOp: OpOverload<Tensor> = defineOp(
  'aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)',
  {
    view: ({ self, offset, dim1, dim2 }) => diagonalView(self, offset, dim1, dim2),
    vjp: ({ self, offset, dim1, dim2 }, { grad }) => ({
      self: () => callOp(diagonalBackwardOp, [grad, self.sizes, offset, dim1, dim2]),
    }),
  },
);
/** @throws index-out-of-range, invalid-dim */
function narrowed(self: Tensor, dim: number, start: number, length: number): Tensor {
  if (self.ndim === 0)
    throw new TesseraError('invalid-dim', 'narrow() cannot be applied to a 0-dim tensor.', {
      hints: ['Reshape it to [1] first.'],
    });
  if (length < 0)
    throw new TesseraError('invalid-argument', 'narrow(): length must be non-negative.', {
      hints: ['Give the number of elements to keep.'],
    });
  const size = self.sizes[wrapDim(dim, self.ndim, 'narrow')]!;
  const from = start < 0 ? start + size : start;
  if (from < 0 || from + length > size) {
    throw new TesseraError(
      'index-out-of-range',
      `narrow: start (${start}) + length (${length}) exceeds dimension size (${size}).`,
      { hints: ['Keep start + length within the dimension.'] },
    );
  }
  return slice(self, dim, from, from + length, 1);
}

export const narrowOp: OpOverload<Tensor> = defineOp(
  'aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)',
  {
    decompose: ({ self, dim, start, length }) => narrowed(self, dim, start, length),
  },
);
const narrowTensorOp = defineOp(
  'aten::narrow.Tensor(Tensor(a) self, int dim, Tensor start, SymInt length) -> Tensor(a)',
  {
    // Where the view lies depends on a value.
    tags: ['data-dependent'],
    decompose: ({ self, dim, start, length }) => {
      if (start.ndim !== 0 || !isIntegral(start.dtype))
        throw new TesseraError(
          'invalid-argument',
          `start must be an 0-dim integral Tensor, got ${start.ndim} dimensions of ${start.dtype}.`,
          { hints: ['Pass a number, or a 0-d integer tensor.'] },
        );
      const from = readNumbers(start)[0]!;
      return narrowed(self, dim, from, length);
    },
  },
);

/** The sub-tensor at one index of a dimension, which disappears. @throws index-out-of-range, invalid-dim */
export function select(self: Tensor, dim: number, index: number): Tensor {
  return callOp(selectOp, [self, dim, index]);
}

/** Elements start (inclusive) to end (exclusive, null: all) of a dimension, every `step`th. @throws invalid-dim */
export function slice(
  self: Tensor,
  dim = 0,
  start: number | null = null,
  end: number | null = null,
  step = 1,
): Tensor {
  return callOp(sliceOp, [self, dim, start, end, step]);
}

/** `length` elements of a dimension from `start` (a number or 0-d tensor) on. @throws index-out-of-range, invalid-dim */
export function narrow(self: Tensor, dim: number, start: number | Tensor, length: number): Tensor {
  return callOp(isTensor(start) ? narrowTensorOp : narrowOp, [self, dim, start, length]);
}

/** A diagonal of two dimensions, as the last dimension. @throws invalid-dim */
export function diagonal(self: Tensor, offset = 0, dim1 = 0, dim2 = 1): Tensor {
  return callOp(diagonalOp, [self, offset, dim1, dim2]);
}
