/**
 * @file Inverses of views: a new whole from the old whole and a new part.
 *
 * Views that only rearrange have an exact inverse; those that select scatter the part into the whole.
 * Modelled on PyTorch's FunctionalInverses.cpp.
 */
import type { Argument, Node } from '@tessera/graph';
import { TesseraError } from '@tessera/shared';
import { wrapDim } from '@tessera/tensor';
import type { Emitter } from './emitter.js';
import type { View } from './memory.js';

type Inverse = (
  emitter: Emitter,
  whole: Node,
  part: Node,
  args: readonly Argument[],
  index: number,
) => Node;

const reshapeBack: Inverse = (emitter, whole, part) =>
  emitter.reshape(part, emitter.val(whole).sizes);
const samePlace: Inverse = (_emitter, _whole, part) => part;

const INVERSES: ReadonlyMap<string, Inverse> = new Map<string, Inverse>([
  ['aten::detach', samePlace],
  ['aten::alias', samePlace],
  // A written expand does not overlap, so it expands nothing but leading dims of size 1.
  ['aten::expand', reshapeBack],
  ['aten::view', reshapeBack],
  ['aten::_unsafe_view', reshapeBack],
  ['aten::unsqueeze', reshapeBack],
  ['aten::squeeze', reshapeBack],
  ['aten::squeeze.dim', reshapeBack],
  ['aten::squeeze.dims', reshapeBack],
  ['aten::t', (emitter, _whole, part) => emitter.emit('aten::t', [part])],
  [
    'aten::transpose.int',
    (emitter, _whole, part, [a, b]) => emitter.emit('aten::transpose.int', [part, a, b]),
  ],
  [
    'aten::permute',
    (emitter, _whole, part, [dims]) => emitter.permute(part, inversePermutation(dims as number[])),
  ],
  [
    'aten::slice.Tensor',
    (emitter, whole, part, [dim, start, end, step]) =>
      emitter.emit('aten::slice_scatter', [whole, part, dim, start, end, step]),
  ],
  [
    'aten::select.int',
    (emitter, whole, part, [dim, at]) =>
      emitter.emit('aten::select_scatter', [whole, part, dim, at]),
  ],
  [
    'aten::as_strided',
    (emitter, whole, part, [size, stride, offset]) =>
      emitter.emit('aten::as_strided_scatter', [whole, part, size, stride, offset]),
  ],
  [
    'aten::diagonal',
    (emitter, whole, part, [offset, dim1, dim2]) =>
      emitter.emit('aten::diagonal_scatter', [whole, part, offset, dim1, dim2]),
  ],
  [
    'aten::unbind.int',
    (emitter, whole, part, [dim], index) =>
      emitter.emit('aten::select_scatter', [whole, part, dim, index]),
  ],
  [
    'aten::split.Tensor',
    (emitter, whole, part, [size, dim], index) => {
      const total = emitter.val(whole).sizes[wrapDim(dim as number, emitter.val(whole).ndim)];
      const start = (size as number) * index;
      return scatterRange(
        emitter,
        whole,
        part,
        dim as number,
        start,
        Math.min(start + (size as number), total),
      );
    },
  ],
  [
    'aten::split_with_sizes',
    (emitter, whole, part, [sizes, dim], index) => {
      const start = (sizes as number[]).slice(0, index).reduce((sum, size) => sum + size, 0);
      return scatterRange(
        emitter,
        whole,
        part,
        dim as number,
        start,
        start + (sizes as number[])[index],
      );
    },
  ],
]);

/** The new contents of a view's parent. @throws aot-unsupported for a view without inverse */
export function inverseView(emitter: Emitter, view: View, whole: Node, part: Node): Node {
  const inverse = INVERSES.get(view.op.qualifiedName);
  if (inverse === undefined) {
    throw new TesseraError(
      'aot-unsupported',
      `In-place update through ${view.op.qualifiedName} cannot be made functional.`,
      {
        context: { op: view.op.qualifiedName },
        hints: ['Update the tensor itself instead of this view of it, or clone() the view first.'],
      },
    );
  }
  const { args } = view;
  if (view.op.qualifiedName !== 'aten::as_strided')
    return inverse(emitter, whole, part, args, view.index ?? 0);
  // The scatter counts from the first element of the whole, which must be laid out as it was.
  const parent = view.parent.val;
  const offset = ((args[2] as number | null) ?? parent.storageOffset) - parent.storageOffset;
  return inverse(emitter, emitter.restride(whole, parent), part, [args[0], args[1], offset], 0);
}

function scatterRange(
  emitter: Emitter,
  whole: Node,
  part: Node,
  dim: number,
  start: number,
  end: number,
): Node {
  return emitter.emit('aten::slice_scatter', [whole, part, dim, start, end, 1]);
}

function inversePermutation(dims: readonly number[]): number[] {
  const inverse: number[] = [];
  dims.forEach((dim, i) => (inverse[dim < 0 ? dim + dims.length : dim] = i));
  return inverse;
}
