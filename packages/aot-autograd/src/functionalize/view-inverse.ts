/**
 * @file Inverses of views: a new whole from the old whole and a new part.
 *
 * Views that only rearrange have an exact inverse; those that select scatter the part into the whole;
 * whatever else is there is written by address. Modelled on PyTorch's FunctionalInverses.cpp.
 */
import type { Argument, Node } from '@tessera/graph';
import { TesseraError } from '@tessera/shared';
import { type OpOverload, type Tensor } from '@tessera/tensor';
import { wrapDim } from '@tessera/tensor/internal';
import type { Emitter } from './emitter.js';
import type { View } from './memory.js';

/** Rules name the types of their operators' schemas, by which calls were checked. */
type Inverse = {
  rule(emitter: Emitter, whole: Node, part: Node, args: readonly Argument[], index: number): Node;
}['rule'];

const reshapeBack: Inverse = (emitter, whole, part) =>
  emitter.reshape(part, emitter.val(whole).sizes);
const samePlace: Inverse = (_emitter, _whole, part) => part;

const INVERSES: ReadonlyMap<string, Inverse> = new Map<string, Inverse>([
  ['aten::detach', samePlace],
  ['aten::alias', samePlace],
  // An expand that shows no element twice adds leading dims of size 1.
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
    (emitter, _whole, part, [dims]: [number[]]) => emitter.permute(part, inversePermutation(dims)),
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
    (emitter, whole, part, [size, dim]: [number, number], index) => {
      const total = emitter.val(whole).sizes[wrapDim(dim, emitter.val(whole).ndim)];
      const start = size * index;
      return scatterRange(emitter, whole, part, dim, start, Math.min(start + size, total));
    },
  ],
  [
    'aten::split_with_sizes',
    (emitter, whole, part, [sizes, dim]: [number[], number], index) => {
      const start = sizes.slice(0, index).reduce((sum, size) => sum + size, 0);
      return scatterRange(emitter, whole, part, dim, start, start + sizes[index]);
    },
  ],
]);

/** Whether a view can be undone by itself. */
export function hasInverse(op: OpOverload): boolean {
  return INVERSES.has(op.qualifiedName) || op.qualifiedName === 'aten::as_strided';
}

/** Sizes, strides and offset of an `as_strided`. */
export function geometryOf({ args }: View): readonly [number[], number[], number] {
  return args as readonly [number[], number[], number];
}

/** The new contents of a view's parent; the view has an inverse. */
export function inverseView(emitter: Emitter, view: View, whole: Node, part: Node): Node {
  const { args, op, parent } = view;
  if (op.qualifiedName !== 'aten::as_strided')
    return INVERSES.get(op.qualifiedName)!(emitter, whole, part, args, view.index ?? 0);
  return scatterStrided(emitter, whole, parent.val, part, geometryOf(view));
}

/**
 * The new contents of a memory's owner, laid out as `owner`, after the elements at the places of `view`
 * were written: for views that have no inverse. @throws aot-unsupported when dtypes differ
 */
export function scatterByAddress(
  emitter: Emitter,
  whole: Node,
  owner: Tensor,
  part: Node,
  view: Tensor,
): Node {
  if (owner.dtype !== view.dtype) {
    throw new TesseraError(
      'aot-unsupported',
      `An in-place update through a view that reads ${owner.dtype} as ${view.dtype} cannot be made functional.`,
      {
        context: { from: owner.dtype, to: view.dtype },
        hints: ['Update the tensor itself instead of this view of it, or clone() the view first.'],
      },
    );
  }
  const geometry = [[...view.sizes], [...view.strides], view.storageOffset] as const;
  return scatterStrided(emitter, whole, owner, part, geometry);
}

/** The scatter counts from the first element of the whole, which must be laid out as it was. */
function scatterStrided(
  emitter: Emitter,
  whole: Node,
  like: Tensor,
  part: Node,
  [size, stride, offset]: readonly [readonly number[], readonly number[], number],
): Node {
  const laidOut = emitter.restride(whole, like);
  const from = offset - like.storageOffset;
  return emitter.emit('aten::as_strided_scatter', [laidOut, part, size, stride, from]);
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
