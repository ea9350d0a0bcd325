/**
 * @file Lowerings of views: index maps, no code and no memory.
 */
import { Node } from '@tessera/graph';
import { TesseraError } from '@tessera/shared';
import { contiguousStrides, isTensor, wrapDim } from '@tessera/tensor';
import type { IndexExpr } from '../ir/index-expr.js';
import { broadcastCoords, intList, tensorArg } from './elementwise.js';
import type { LoweredTensor } from './lowered-tensor.js';
import type { Lowering } from './lowering.js';
import type { LoweredArg, LoweringCall, LoweringFn } from './registry.js';

/** `2^63 - 1` and the like mean "to the end". */
function clampSlice(value: LoweredArg, size: number, fallback: number): number {
  if (value === null || value === undefined) return fallback;
  const n = Number(value);
  return Math.min(Math.max(n < 0 ? n + size : n, 0), size);
}

/** Start, end and step of a slice of a dimension, resolved. */
export function sliceRange(size: number, start: LoweredArg, end: LoweredArg, step: LoweredArg): { readonly start: number; readonly end: number; readonly step: number } {
  const from = clampSlice(start, size, 0);
  return { start: from, end: Math.max(clampSlice(end, size, size), from), step: Number(step ?? 1) };
}

/** Digits of a row-major index in a shape. */
export function delinearize(lowering: Lowering, flat: IndexExpr, sizes: readonly number[]): IndexExpr[] {
  const { ir } = lowering;
  const strides = contiguousStrides(sizes);
  return sizes.map((size, d) => {
    const above = ir.div(flat, strides[d]!);
    return d === 0 ? (size === 1 ? ir.int(0) : above) : ir.mod(above, size);
  });
}

/** Row-major index of coordinates in a shape. */
export function linearize(lowering: Lowering, coords: readonly IndexExpr[], sizes: readonly number[]): IndexExpr {
  const strides = contiguousStrides(sizes);
  return lowering.ir.add(...coords.map((coord, d) => (sizes[d] === 1 ? lowering.ir.int(0) : lowering.ir.scale(coord, strides[d]!))));
}

/** The same elements in row-major order under another shape. */
export function reshapeTensor(lowering: Lowering, self: LoweredTensor, sizes: readonly number[]): LoweredTensor {
  if (self.sizes.length === sizes.length && self.sizes.every((size, d) => size === sizes[d])) return self;
  if (sizes.some((size) => size === 0)) return self.view(sizes, self.sizes.map(() => lowering.ir.int(0)));
  return self.view(sizes, delinearize(lowering, linearize(lowering, lowering.vars(sizes), sizes), self.sizes));
}

/** Dimension `d` of the result is dimension `order[d]` of the tensor. */
export function permuteTensor(lowering: Lowering, self: LoweredTensor, order: readonly number[]): LoweredTensor {
  const sizes = order.map((d) => self.sizes[d]!);
  const vars = lowering.vars(sizes);
  const coords = new Array<IndexExpr>(sizes.length);
  order.forEach((from, to) => {
    coords[from] = vars[to]!;
  });
  return self.view(sizes, coords);
}

/** The tensor with one coordinate mapped. */
function mapDim(lowering: Lowering, self: LoweredTensor, dim: number, size: number, map: (index: IndexExpr) => IndexExpr): LoweredTensor {
  const sizes = self.sizes.map((s, d) => (d === dim ? size : s));
  return self.view(sizes, lowering.vars(sizes).map((v, d) => (d === dim ? map(v) : v)));
}

/** Elements start, start + step, … of a dimension. */
export function sliceTensor(lowering: Lowering, self: LoweredTensor, dim: number, start: number, length: number, step: number): LoweredTensor {
  if (start === 0 && step === 1 && length === self.sizes[dim]) return self;
  return mapDim(lowering, self, dim, length, (v) => lowering.ir.add(lowering.ir.scale(v, step), lowering.ir.int(start)));
}

/** One element of a dimension, which disappears. */
export function selectTensor(lowering: Lowering, self: LoweredTensor, dim: number, index: number): LoweredTensor {
  const at = index < 0 ? index + self.sizes[dim]! : index;
  const sizes = self.sizes.filter((_, d) => d !== dim);
  const vars = [...lowering.vars(sizes)];
  vars.splice(dim, 0, lowering.ir.int(at));
  return self.view(sizes, vars);
}

export function expandTensor(lowering: Lowering, self: LoweredTensor, sizes: readonly number[]): LoweredTensor {
  const grows = sizes.reduce((a, b) => a * b, 1) > self.sizes.reduce((a, b) => a * b, 1);
  if (grows && !self.isRealized) {
    const cost = lowering.costOf(self.expr);
    if (cost.expensive || cost.loads > 4) self.realize();
  }
  return self.view(sizes, broadcastCoords(lowering, self.sizes, sizes, lowering.vars(sizes)));
}

const reshape: LoweringFn = (l, [self], call) => reshapeTensor(l, tensorArg(self!, call.op), call.sizes);

const permute: LoweringFn = (l, [self, dims], call) => {
  const x = tensorArg(self!, call.op);
  return permuteTensor(l, x, intList(dims!).map((d) => wrapDim(d, x.sizes.length, call.op)));
};

/** Swaps two dimensions. */
function swapped(l: Lowering, x: LoweredTensor, a: number, b: number): LoweredTensor {
  const order = x.sizes.map((_, d) => d);
  [order[a], order[b]] = [order[b]!, order[a]!];
  return permuteTensor(l, x, order);
}

const transpose: LoweringFn = (l, [self, dim0, dim1], call) => {
  const x = tensorArg(self!, call.op);
  if (x.sizes.length === 0) return x;
  return swapped(l, x, wrapDim(Number(dim0), x.sizes.length, call.op), wrapDim(Number(dim1), x.sizes.length, call.op));
};

const t: LoweringFn = (l, [self], call) => {
  const x = tensorArg(self!, call.op);
  return x.sizes.length < 2 ? x : swapped(l, x, 0, 1);
};

const expand: LoweringFn = (l, [self], call) => expandTensor(l, tensorArg(self!, call.op), call.sizes);

/** Dimensions of size 1 come and go without changing the order of the others. */
const resqueeze: LoweringFn = (l, [self], call) => {
  const x = tensorArg(self!, call.op);
  const vars = l.vars(call.sizes).filter((_, d) => call.sizes[d] !== 1);
  let next = 0;
  return x.view(call.sizes, x.sizes.map((size) => (size === 1 ? l.ir.int(0) : vars[next++]!)));
};

const select: LoweringFn = (l, [self, dim, index], call) => {
  const x = tensorArg(self!, call.op);
  return selectTensor(l, x, wrapDim(Number(dim), x.sizes.length, call.op), Number(index));
};

const slice: LoweringFn = (l, [self, dim, start, end, step], call) => {
  const x = tensorArg(self!, call.op);
  const at = wrapDim(Number(dim ?? 0), x.sizes.length, call.op);
  const range = sliceRange(x.sizes[at]!, start, end, step);
  return sliceTensor(l, x, at, range.start, call.sizes[at]!, range.step);
};

const narrow: LoweringFn = (l, [self, dim, start, length], call) => {
  const x = tensorArg(self!, call.op);
  const at = wrapDim(Number(dim), x.sizes.length, call.op);
  const from = Number(start);
  return sliceTensor(l, x, at, from < 0 ? from + x.sizes[at]! : from, Number(length), 1);
};

/** Consecutive parts along a dimension, of the recorded sizes. */
function parts(dimAt: number): LoweringFn {
  return (l, args, call) => {
    const x = tensorArg(args[0]!, call.op);
    const dim = wrapDim(Number(args[dimAt] ?? 0), x.sizes.length, call.op);
    let start = 0;
    return call.results.map((result) => {
      const length = result!.sizes[dim]!;
      const part = sliceTensor(l, x, dim, start, length, 1);
      start += length;
      return part;
    });
  };
}

const unbind: LoweringFn = (l, [self, dim], call) => {
  const x = tensorArg(self!, call.op);
  const at = wrapDim(Number(dim ?? 0), x.sizes.length, call.op);
  return Array.from({ length: x.sizes[at]! }, (_, i) => selectTensor(l, x, at, i));
};

const diagonal: LoweringFn = (l, [self, offset, dim1, dim2], call) => {
  const x = tensorArg(self!, call.op);
  const a = wrapDim(Number(dim1 ?? 0), x.sizes.length, call.op);
  const b = wrapDim(Number(dim2 ?? 1), x.sizes.length, call.op);
  const shift = Number(offset ?? 0);
  const vars = [...l.vars(call.sizes)];
  const along = vars.pop()!;
  const coords = x.sizes.map((_, d) =>
    d === a ? l.ir.add(along, l.ir.int(Math.max(-shift, 0))) : d === b ? l.ir.add(along, l.ir.int(Math.max(shift, 0))) : vars.shift()!);
  return x.view(call.sizes, coords);
};

/** Windows of a dimension: a view with a new last dimension. */
const unfold: LoweringFn = (l, [self, dimension, , step], call) => {
  const x = tensorArg(self!, call.op);
  if (x.sizes.length === 0) return x.view(call.sizes, []);
  const dim = wrapDim(Number(dimension), x.sizes.length, call.op);
  const vars = [...l.vars(call.sizes)];
  const within = vars.pop()!;
  return x.view(call.sizes, vars.map((v, d) => (d === dim ? l.ir.add(l.ir.scale(v, Number(step)), within) : v)));
};

const flip: LoweringFn = (l, [self, dims], call) => {
  const x = tensorArg(self!, call.op);
  const flipped = new Set(intList(dims!).map((d) => wrapDim(d, x.sizes.length, call.op)));
  return x.view(x.sizes, l.vars(x.sizes).map((v, d) => (flipped.has(d) && x.sizes[d] !== 1 ? l.ir.sub(l.ir.int(x.sizes[d]! - 1), v) : v)));
};

const roll: LoweringFn = (l, [self, shifts, dims], call) => {
  const x = tensorArg(self!, call.op);
  const by = intList(shifts!);
  const over = intList(dims!);
  if (over.length === 0) {
    const flat = rolled(l, reshapeTensor(l, x, [x.sizes.reduce((a, b) => a * b, 1)]), 0, by[0] ?? 0);
    return reshapeTensor(l, flat, x.sizes);
  }
  return over.reduce((value, dim, i) => rolled(l, value, wrapDim(dim, x.sizes.length, call.op), by[i]!), x);
};

function rolled(l: Lowering, x: LoweredTensor, dim: number, shift: number): LoweredTensor {
  const size = x.sizes[dim]!;
  if (size <= 1) return x;
  const back = (((-shift % size) + size) % size);
  return mapDim(l, x, dim, size, (v) => l.ir.mod(l.ir.add(v, l.ir.int(back)), size));
}

const repeat: LoweringFn = (l, [self], call) => {
  const x = tensorArg(self!, call.op);
  const lead = call.sizes.length - x.sizes.length;
  const vars = l.vars(call.sizes);
  return x.view(call.sizes, x.sizes.map((size, d) => (size === 1 ? l.ir.int(0) : l.ir.mod(vars[d + lead]!, size))));
};

const identity: LoweringFn = (_l, [self], call) => tensorArg(self!, call.op);

/** A strided view needs memory to be a view of; its offset counts from that memory's start. */
const asStrided: LoweringFn = (l, [self, size, stride, offset], call) => {
  const x = tensorArg(self!, call.op);
  const buffer = x.realize();
  const strides = intList(stride!);
  const vars = l.vars(intList(size!));
  const origin = buffer.input < 0 ? 0 : l.inputOffsets[buffer.input]!;
  const start = offset === null || offset === undefined ? storageOffset(call) : Number(offset);
  if (start < origin) {
    throw new TesseraError('invalid-argument', `${call.op}: the view starts at element ${start} of its storage, before its base (at ${origin}).`, {
      hints: ['Pass the whole tensor into the compiled function and slice it there.'],
    });
  }
  const flat = l.ir.add(l.ir.int(start - origin), ...vars.map((v, d) => l.ir.scale(v, strides[d]!)));
  const whole = l.fromBuffer(buffer);
  return whole.view(call.sizes, buffer.sizes.map((length, d) => (length === 1 ? l.ir.int(0) : l.ir.mod(l.ir.div(flat, buffer.strides[d]!), length))));
};

/** Where the viewed tensor itself begins in its storage. */
function storageOffset(call: LoweringCall): number {
  const self = call.node.args[0];
  const val = self instanceof Node ? self.meta.val : null;
  return isTensor(val) ? val.storageOffset : 0;
}

/** Lowerings by overload name. */
export const viewLowerings: Readonly<Record<string, LoweringFn>> = {
  'aten::view': reshape,
  'aten::view_copy': reshape,
  'aten::reshape': reshape,
  'aten::_unsafe_view': reshape,
  'aten::_reshape_alias': reshape,
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
  'aten::diagonal': diagonal,
  'aten::diagonal_copy': diagonal,
  'aten::unfold': unfold,
  'aten::unfold_copy': unfold,
  'aten::as_strided': asStrided,
  'aten::as_strided_copy': asStrided,
  'aten::detach': identity,
  'aten::alias': identity,
  'aten::alias_copy': identity,
  'aten::lift_fresh': identity,
  'aten::flip': flip,
  'aten::roll': roll,
  'aten::repeat': repeat,
};
