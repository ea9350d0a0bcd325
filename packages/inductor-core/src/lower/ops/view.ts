/**
 * @file Lowerings of views: index maps, no code and no memory.
 */
import { type Size, sizeAdd } from '@tessera/shared';
import { wrapDim } from '@tessera/tensor/internal';
import { intList, tensorArg } from './elementwise.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import {
  expandTensor,
  permuteTensor,
  reshapeTensor,
  selectTensor,
  sizeArg,
  sliceStart,
  sliceTensor,
} from './view-maps.js';
import { viewRearrangements } from './view-rearrange.js';
import {
  type LoweringOf,
  type LoweringTable,
  type SizedLoweringOf,
  lowerings,
} from '../typed-lowering.js';
import { fixed } from '../shape-math.js';

const reshape: LoweringOf<
  | 'aten::view'
  | 'aten::view_copy'
  | 'aten::reshape'
  | 'aten::_unsafe_view'
  | 'aten::flatten.using_ints'
  | 'aten::unflatten.int'
> = (l, [self], call) => reshapeTensor(l, self, call.shape);

const permute: LoweringOf<'aten::permute' | 'aten::permute_copy'> = (l, [x, dims], call) => {
  return permuteTensor(
    l,
    x,
    intList(dims).map((d) => wrapDim(d, x.shape.length, call.op)),
  );
};

/** Swaps two dimensions. */
function swapped(l: Lowering, x: LoweredTensor, a: number, b: number): LoweredTensor {
  const order = x.shape.map((_, d) => d);
  [order[a], order[b]] = [order[b]!, order[a]!];
  return permuteTensor(l, x, order);
}

const transpose: LoweringOf<'aten::transpose.int' | 'aten::transpose_copy.int'> = (
  l,
  [x, dim0, dim1],
  call,
) => {
  if (x.shape.length === 0) return x;
  return swapped(
    l,
    x,
    wrapDim(Number(dim0), x.shape.length, call.op),
    wrapDim(Number(dim1), x.shape.length, call.op),
  );
};

const t: LoweringOf<'aten::t' | 'aten::t_copy'> = (l, [x]) => {
  return x.shape.length < 2 ? x : swapped(l, x, 0, 1);
};

const expand: LoweringOf<'aten::expand' | 'aten::expand_copy' | 'aten::broadcast_to'> = (
  l,
  [self],
  call,
) => expandTensor(l, self, call.shape);

/** Dimensions of size 1 come and go without changing the order of the others. */
const resqueeze: LoweringOf<
  | 'aten::squeeze'
  | 'aten::squeeze.dim'
  | 'aten::squeeze.dims'
  | 'aten::squeeze_copy'
  | 'aten::squeeze_copy.dim'
  | 'aten::unsqueeze'
  | 'aten::unsqueeze_copy'
> = (l, [x], call) => {
  const vars = l.vars(call.shape).filter((_, d) => call.shape[d] !== 1);
  let next = 0;
  return x.view(
    call.shape,
    x.shape.map((size) => (size === 1 ? l.ir.int(0) : vars[next++]!)),
  );
};

const select: SizedLoweringOf<'aten::select.int' | 'aten::select_copy.int'> = (
  l,
  [x, dim, index],
  call,
) => {
  return selectTensor(l, x, wrapDim(Number(dim), x.shape.length, call.op), sizeArg(index));
};

const slice: SizedLoweringOf<'aten::slice.Tensor' | 'aten::slice_copy.Tensor'> = (
  l,
  [x, dim, start, , step],
  call,
) => {
  const at = wrapDim(Number(dim ?? 0), x.shape.length, call.op);
  const from = sliceStart(x.shape[at]!, start);
  return sliceTensor(l, x, at, from, call.shape[at]!, Number(step ?? 1));
};

const narrow: SizedLoweringOf<'aten::narrow' | 'aten::narrow_copy'> = (
  l,
  [x, dim, start, length],
  call,
) => {
  const at = wrapDim(Number(dim), x.shape.length, call.op);
  return sliceTensor(l, x, at, sliceStart(x.shape[at]!, start), sizeArg(length), 1);
};

/** Consecutive parts along a dimension, of the recorded sizes. */
function parts(
  dimAt: number,
): LoweringOf<
  | 'aten::split.Tensor'
  | 'aten::unsafe_split.Tensor'
  | 'aten::split_with_sizes'
  | 'aten::split_with_sizes_copy'
  | 'aten::chunk'
  | 'aten::unsafe_chunk'
> {
  return (l, args, call) => {
    const x = tensorArg(args[0]!, call.op);
    const dim = wrapDim(Number(args[dimAt] ?? 0), x.shape.length, call.op);
    let start: Size = 0;
    return call.results.map((result) => {
      const length = result!.shape[dim]!;
      const part = sliceTensor(l, x, dim, start, length, 1);
      start = sizeAdd(start, length);
      return part;
    });
  };
}

const identity: LoweringOf<'aten::detach' | 'aten::alias' | 'aten::alias_copy'> = (_l, [self]) =>
  self;

const unbind: LoweringOf<'aten::unbind.int' | 'aten::unbind_copy.int'> = (l, [x, dim], call) => {
  const at = wrapDim(Number(dim ?? 0), x.shape.length, call.op);
  return Array.from({ length: fixed(x.shape[at]!) }, (_, i) => selectTensor(l, x, at, i));
};

/** Operators whose lowerings take symbolic sizes among their arguments. */
export const SIZED_VIEWS: readonly string[] = [
  'aten::view',
  'aten::view_copy',
  'aten::reshape',
  'aten::_unsafe_view',
  'aten::_reshape_alias',
  'aten::unflatten.int',
  'aten::expand',
  'aten::expand_copy',
  'aten::broadcast_to',
  'aten::select.int',
  'aten::select_copy.int',
  'aten::slice.Tensor',
  'aten::slice_copy.Tensor',
  'aten::narrow',
  'aten::narrow_copy',
  'aten::split.Tensor',
  'aten::unsafe_split.Tensor',
  'aten::split_with_sizes',
  'aten::split_with_sizes_copy',
];

/** Lowerings by overload name. */
export const viewLowerings: LoweringTable = lowerings({
  'aten::view': reshape,
  'aten::view_copy': reshape,
  'aten::reshape': reshape,
  'aten::_unsafe_view': reshape,
  'aten::flatten.using_ints': reshape,
  'aten::unflatten.int': reshape,
  'aten::permute': permute,
  'aten::permute_copy': permute,
  'aten::transpose.int': transpose,
  'aten::transpose_copy.int': transpose,
  'aten::t': t,
  'aten::t_copy': t,
  'aten::expand': expand,
  'aten::expand_copy': expand,
  'aten::broadcast_to': expand,
  'aten::squeeze': resqueeze,
  'aten::squeeze.dim': resqueeze,
  'aten::squeeze.dims': resqueeze,
  'aten::squeeze_copy': resqueeze,
  'aten::squeeze_copy.dim': resqueeze,
  'aten::unsqueeze': resqueeze,
  'aten::unsqueeze_copy': resqueeze,
  'aten::select.int': select,
  'aten::select_copy.int': select,
  'aten::slice.Tensor': slice,
  'aten::slice_copy.Tensor': slice,
  'aten::narrow': narrow,
  'aten::narrow_copy': narrow,
  'aten::split.Tensor': parts(2),
  'aten::unsafe_split.Tensor': parts(2),
  'aten::split_with_sizes': parts(2),
  'aten::split_with_sizes_copy': parts(2),
  'aten::chunk': parts(2),
  'aten::unsafe_chunk': parts(2),
  'aten::unbind.int': unbind,
  'aten::unbind_copy.int': unbind,
  'aten::detach': identity,
  'aten::alias': identity,
  'aten::alias_copy': identity,
  ...viewRearrangements,
});
