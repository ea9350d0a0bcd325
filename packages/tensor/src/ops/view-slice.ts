/**
 * @file Views of a part of a tensor: select, slice, narrow, diagonal; and their backward ops.
 *
 * The backward of a partial view puts the gradient into zeros; as an op it stays one node in a graph.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../dispatch/dispatcher.js';
import { writeNumbers, readNumbers } from '../kernels/elements.js';
import { defineOp } from '../op/op-overload.js';
import type { NamedArgs, OpRecord, TensorMeta, ViewMeta } from '../op/op-record.js';
import { contiguousStrides, formatSizes, wrapDim } from '../shape.js';
import { makeTensor } from '../tensor-factory.js';
import type { Tensor } from '../tensor.js';

/** "To the end" in a slice: the largest 64-bit integer, as the nearest double. */
export const SLICE_END = 9223372036854775807;

/** Layout on a storage; the part of a tensor that view geometry needs. */
export interface Layout {
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
  readonly storageOffset: number;
}

/** Geometry of `select`. @throws index-out-of-range, invalid-dim */
export function selectView(self: Layout, dim: number, index: number): ViewMeta {
  if (self.sizes.length === 0) {
    throw new TesseraError('invalid-dim', 'select() cannot be applied to a 0-dim tensor.', { hints: ['Use item() to read its value.'] });
  }
  const at = wrapDim(dim, self.sizes.length, 'select');
  const size = self.sizes[at]!;
  if (index < -size || index >= size) {
    throw new TesseraError('index-out-of-range', `select(): index ${index} out of range for tensor of size ${formatSizes(self.sizes)} at dimension ${dim}`, {
      context: { index, dim, sizes: self.sizes },
      hints: [`Use an index from ${-size} to ${size - 1}.`],
    });
  }
  const offset = self.storageOffset + (index < 0 ? index + size : index) * self.strides[at]!;
  const rest = (_: number, i: number): boolean => i !== at;
  return { sizes: self.sizes.filter(rest), strides: self.strides.filter(rest), offset };
}

/** Geometry of `slice`: bounds wrap and clamp as in Python. @throws invalid-dim, invalid-argument */
export function sliceView(self: Layout, dim: number, start: number | null, end: number | null, step: number): ViewMeta {
  const at = wrapDim(dim, self.sizes.length, 'slice');
  if (self.sizes.length === 0) throw new TesseraError('invalid-dim', 'slice() cannot be applied to a 0-dim tensor.', { hints: ['Reshape it to [1] first.'] });
  if (!(step > 0)) throw new TesseraError('invalid-argument', `slice step must be positive, got ${step}`, { hints: ['Use flip() to reverse.'] });
  const size = self.sizes[at]!;
  const bound = (value: number): number => Math.min(Math.max(value < 0 ? value + size : value, 0), size);
  const from = bound(start ?? 0);
  const to = Math.max(from, bound(end ?? SLICE_END));
  const sizes = [...self.sizes];
  const strides = [...self.strides];
  sizes[at] = Math.ceil((to - from) / step);
  strides[at] = strides[at]! * step;
  return { sizes, strides, offset: self.storageOffset + from * self.strides[at]! };
}

/** Geometry of `diagonal`: the diagonal is the last dim. @throws invalid-dim */
export function diagonalView(self: Layout, offset: number, dim1: number, dim2: number): ViewMeta {
  const a = wrapDim(dim1, self.sizes.length, 'diagonal');
  const b = wrapDim(dim2, self.sizes.length, 'diagonal');
  if (a === b) throw new TesseraError('invalid-dim', `diagonal dimensions cannot be identical ${dim1}, ${dim2}`, { hints: ['Name two different dimensions.'] });
  const rows = self.sizes[a]! + Math.min(offset, 0);
  const columns = self.sizes[b]! - Math.max(offset, 0);
  const size = Math.max(Math.min(rows, columns), 0);
  const start = size === 0 ? 0 : offset >= 0 ? offset * self.strides[b]! : -offset * self.strides[a]!;
  const rest = (_: number, i: number): boolean => i !== a && i !== b;
  return {
    sizes: [...self.sizes.filter(rest), size],
    strides: [...self.strides.filter(rest), self.strides[a]! + self.strides[b]!],
    offset: self.storageOffset + start,
  };
}

function backwardMeta({ grad_output, input_sizes }: NamedArgs): TensorMeta {
  return { sizes: input_sizes as number[], strides: contiguousStrides(input_sizes as number[]), dtype: grad_output.dtype, device: grad_output.device };
}

/** A tensor over the part of `out` that a view geometry names. */
export function partOf(out: Tensor, geometry: ViewMeta): Tensor {
  return makeTensor(out.storage, out.dtype, out.device, geometry.sizes, geometry.strides, geometry.offset);
}

/** Record of the backward op of a partial view: zeros with the gradient in the part. */
function backwardRecord(part: (out: Tensor, args: NamedArgs) => ViewMeta, forward: (grad: Tensor, args: NamedArgs) => Tensor): OpRecord {
  return {
    meta: backwardMeta,
    kernel: (args, [out]) => {
      writeNumbers(out!, new Float64Array(out!.numel));
      const target = partOf(out!, part(out!, args));
      writeNumbers(target, readNumbers(args.grad_output as Tensor, target.sizes));
    },
    vjp: (args, { grad }) => ({ grad_output: () => forward(grad, args) }),
  };
}

const selectBackwardOp = defineOp('aten::select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor', backwardRecord(
  (out, { dim, index }) => selectView(out, dim as number, index as number),
  (grad, { dim, index }) => select(grad, dim as number, index as number),
));
const sliceBackwardOp = defineOp('aten::slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step) -> Tensor', backwardRecord(
  (out, { dim, start, end, step }) => sliceView(out, dim as number, start as number, end as number, step as number),
  (grad, { dim, start, end, step }) => slice(grad, dim as number, start as number, end as number, step as number),
));
const diagonalBackwardOp = defineOp('aten::diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor', backwardRecord(
  (out, { offset, dim1, dim2 }) => diagonalView(out, offset as number, dim1 as number, dim2 as number),
  (grad, { offset, dim1, dim2 }) => diagonal(grad, offset as number, dim1 as number, dim2 as number),
));

const selectOp = defineOp('aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)', {
  view: ({ self, dim, index }) => selectView(self as Tensor, dim as number, index as number),
  vjp: ({ self, dim, index }, { grad }) => ({ self: () => callOp(selectBackwardOp, [grad, self.sizes, dim, index]) as Tensor }),
});
const sliceOp = defineOp('aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)', {
  view: ({ self, dim, start, end, step }) => sliceView(self as Tensor, dim as number, start as number | null, end as number | null, step as number),
  vjp: ({ self, dim, start, end, step }, { grad }) => ({
    self: () => callOp(sliceBackwardOp, [grad, self.sizes, dim, start ?? 0, end ?? SLICE_END, step]) as Tensor,
  }),
});
const diagonalOp = defineOp('aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)', {
  view: ({ self, offset, dim1, dim2 }) => diagonalView(self as Tensor, offset as number, dim1 as number, dim2 as number),
  vjp: ({ self, offset, dim1, dim2 }, { grad }) => ({ self: () => callOp(diagonalBackwardOp, [grad, self.sizes, offset, dim1, dim2]) as Tensor }),
});
const narrowOp = defineOp('aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)', {
  decompose: ({ self, dim, start, length }) => {
    const size = self.sizes[wrapDim(dim as number, self.ndim, 'narrow')] as number;
    const from = (start as number) < 0 ? (start as number) + size : (start as number);
    if (from < 0 || length < 0 || from + (length as number) > size) {
      throw new TesseraError('index-out-of-range', `narrow: start (${start as number}) + length (${length as number}) exceeds dimension size (${size}).`, { hints: ['Keep start + length within the dimension.'] });
    }
    return slice(self as Tensor, dim as number, from, from + (length as number), 1);
  },
});

/** The sub-tensor at one index of a dimension, which disappears. @throws index-out-of-range, invalid-dim */
export function select(self: Tensor, dim: number, index: number): Tensor {
  return callOp(selectOp, [self, dim, index]) as Tensor;
}

/** Elements start (inclusive) to end (exclusive, null: all) of a dimension, every `step`th. @throws invalid-dim */
export function slice(self: Tensor, dim = 0, start: number | null = null, end: number | null = null, step = 1): Tensor {
  return callOp(sliceOp, [self, dim, start, end, step]) as Tensor;
}

/** `length` elements of a dimension from `start` on. @throws index-out-of-range, invalid-dim */
export function narrow(self: Tensor, dim: number, start: number, length: number): Tensor {
  return callOp(narrowOp, [self, dim, start, length]) as Tensor;
}

/** A diagonal of two dimensions, as the last dimension. @throws invalid-dim */
export function diagonal(self: Tensor, offset = 0, dim1 = 0, dim2 = 1): Tensor {
  return callOp(diagonalOp, [self, offset, dim1, dim2]) as Tensor;
}
