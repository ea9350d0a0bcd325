/**
 * @file Lowerings that put tensors side by side: cat, stack, pad, and writes into a slice.
 *
 * Each is a pointwise value that chooses by position; a load outside its tensor is masked away. A join of
 * equal parts that gets memory anyway is written part by part instead: nothing is chosen, and what several
 * parts need is computed once. The scheduler puts the parts into one kernel. @see torch._inductor.ir.ConcatKernel
 */
import { type Size, sizeAdd, sizeKnown, sizeMul, sizeSub, sizeSum } from '@tessera/shared';
import { within } from '../within.js';
import { wrapDim } from '@tessera/tensor/internal';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import { intList } from './elementwise.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { usesOf } from '../node-uses.js';
import { addPart } from '../part-nodes.js';
import { type LoweredArg, RuntimeScalar } from '../registry.js';
import { selectedPlace, sliceStart } from './view-maps.js';
import { type Shape, fixed, isEmpty, isSame } from '../shape-math.js';
import {
  type LoweringOf,
  type LoweringTable,
  type SizedLoweringOf,
  lowerings,
} from '../typed-lowering.js';

/** Inputs beyond this many that are costly get memory, because every element evaluates all of them. */
const INLINE_INPUTS = 4;
/** Most tensors that are joined at once; more are joined in groups first. */
const MOST_INPUTS = 8;

/** What a join gives. */
interface Joined {
  readonly shape: Shape;
  readonly dtype: LoweredTensor['dtype'];
}

function nonEmpty(
  tensors: readonly LoweredTensor[],
  dim: number,
  call: Joined,
): readonly LoweredTensor[] {
  return tensors.filter(
    (t) =>
      !(t.shape.length === 1 && t.shape[0] === 0 && call.shape.length !== 1) && t.shape[dim] !== 0,
  );
}

function joined(
  l: Lowering,
  parts: readonly LoweredTensor[],
  dim: number,
  call: Joined,
): LoweredTensor {
  const limit = Math.min(MOST_INPUTS, l.capabilities.maxBuffersPerKernel - 1);
  if (parts.length > limit) return joined(l, inGroups(l, parts, dim, limit, call), dim, call);
  for (const part of parts)
    if (!part.isRealized && parts.length > INLINE_INPUTS && l.costOf(part.expr).expensive)
      part.realize();
  const whole = choice(l, parts, dim, call);
  if (l.costOf(whole).buffers <= limit) return l.pointwise(call.shape, whole);
  const room = limit / Math.max(parts.length, 1);
  for (const part of parts)
    if (!part.isRealized && l.costOf(part.expr).buffers > room) part.realize();
  return l.pointwise(call.shape, choice(l, parts, dim, call));
}

/** The element of the part in which a position lies. */
function choice(l: Lowering, parts: readonly LoweredTensor[], dim: number, call: Joined): Expr {
  const vars = l.vars(call.shape);
  const position = vars[dim]!;
  let end = call.shape[dim]!;
  let value: Expr = l.ir.const(call.dtype, 0);
  for (let i = parts.length - 1; i >= 0; i--) {
    const part = parts[i]!;
    const start = sizeSub(end, part.shape[dim]!);
    const loaded = l.ir.cast(
      part.load(vars.map((v, d) => (d === dim ? l.ir.sub(v, l.ir.size(start)) : v))),
      call.dtype,
    );
    const masked = l.ir.masked(within(l, position, start, end), loaded, 0);
    value =
      i === parts.length - 1
        ? masked
        : l.ir.op('where', [
            l.ir.op('lt', [l.ir.index('int32', position), l.ir.sizeValue('int32', end)]),
            masked,
            value,
          ]);
    end = start;
  }
  return value;
}

/** Neighbouring tensors joined in memory, `limit` at a time. */
function inGroups(
  l: Lowering,
  parts: readonly LoweredTensor[],
  dim: number,
  limit: number,
  call: Joined,
): LoweredTensor[] {
  const groups: LoweredTensor[] = [];
  for (let i = 0; i < parts.length; i += limit) {
    const group = parts.slice(i, i + limit);
    const length = sizeSum(group.map((part) => part.shape[dim]!));
    const shape = call.shape.map((size, d) => (d === dim ? length : size));
    const whole = joined(l, group, dim, { shape, dtype: call.dtype });
    whole.realize();
    groups.push(whole);
  }
  return groups;
}

/** Elements along the last dimension below which parts are not written apart: vectors would be short. */
const SHORTEST_PART = 8;

/** Whether parts that are still to be computed are better written each to its place. */
function isWrittenInParts(
  l: Lowering,
  parts: readonly LoweredTensor[],
  dim: number,
  { shape }: Joined,
): boolean {
  const length = parts[0]?.shape[dim] ?? 0;
  if (parts.length < 2 || parts.some((part) => part.shape[dim] !== length)) return false;
  if (isEmpty(shape)) return false;
  if (dim === shape.length - 1 && sizeKnown(length, '<', SHORTEST_PART) !== false) return false;
  const costs = parts.map((part) => l.costOf(part.expr));
  const buffers = new Set(parts.flatMap((part) => [...l.buffersOf(part.expr)]));
  return costs.some(({ ops }) => ops > 0) && buffers.size < l.capabilities.maxBuffersPerKernel;
}

/** Memory that each part fills its share of. */
function writtenInParts(
  l: Lowering,
  parts: readonly LoweredTensor[],
  dim: number,
  { shape, dtype }: Joined,
  layout: Shape | null,
): LoweredTensor {
  const whole = l.newBuffer(dtype, shape, layout);
  let start: Size = 0;
  for (const part of parts) {
    const at = l.ir.size(start);
    const coords = l.vars(part.shape).map((v, d) => (d === dim ? l.ir.add(v, at) : v));
    addPart(l, whole, part.shape, part.expr, coords);
    start = sizeAdd(start, part.shape[dim]!);
  }
  return l.fromBuffer(whole);
}

const cat: LoweringOf<'aten::cat'> = (l, [tensors, dim], call) => {
  const at = wrapDim(Number(dim ?? 0), call.shape.length, call.op);
  const parts = nonEmpty(tensors, at, call);
  if (usesOf(call.node).needMemory && isWrittenInParts(l, parts, at, call))
    return writtenInParts(l, parts, at, call, call.results[0]?.layout ?? null);
  return joined(l, parts, at, call);
};

const stack: LoweringOf<'aten::stack'> = (l, [tensors, dim], call) => {
  const at = wrapDim(Number(dim ?? 0), call.shape.length, call.op);
  const list = tensors.map((x) => {
    const sizes = [...x.shape];
    sizes.splice(at, 0, 1);
    return x.view(
      sizes,
      l.vars(sizes).filter((_, d) => d !== at),
    );
  });
  return joined(l, list, at, call);
};

/** `pad` lists (before, after) from the last dimension backwards; negative amounts crop. */
const constantPad: LoweringOf<'aten::constant_pad_nd'> = (l, [x, pad, value], call) => {
  const amounts = intList(pad);
  const rank = x.shape.length;
  const before = x.shape.map((_, d) => amounts[2 * (rank - 1 - d)] ?? 0);
  const vars = l.vars(call.shape);
  const coords = vars.map((v, d) => l.ir.sub(v, l.ir.int(before[d]!)));
  const inside = coords
    .map((coord, d) => within(l, coord, 0, x.shape[d]!))
    .reduce((a, b) => l.ir.op('and', [a, b]), l.ir.const('bool', 1));
  const loaded = x.load(coords.map((coord, d) => (x.shape[d] === 1 ? l.ir.int(0) : coord)));
  if (!(value instanceof RuntimeScalar))
    return l.pointwise(call.shape, l.ir.masked(inside, loaded, Number(value ?? 0)));
  return l.pointwise(
    call.shape,
    l.ir.op('where', [inside, l.ir.masked(inside, loaded, 0), l.ir.cast(value.expr, x.dtype)]),
  );
};

/** Places `start`, `start + step`, … of a dimension. */
interface Places {
  readonly start: Size;
  readonly step: number;
}

/** Which element of a slice lies at a position, and whether one does; `length` is how many it has. */
function placeInSlice(
  l: Lowering,
  position: IndexExpr,
  { start, step }: Places,
  length: Size,
): { readonly mask: Expr; readonly at: IndexExpr } {
  const end = sizeAdd(start, sizeAdd(sizeMul(step, sizeSub(length, 1)), 1));
  const inside = within(l, position, start, end);
  if (step === 1) return { mask: inside, at: l.ir.sub(position, l.ir.size(start)) };
  // Shifted by a multiple of the step, so that the dividend is never negative.
  const first = fixed(start);
  const steps = Math.ceil(first / step);
  const shifted = l.ir.add(position, l.ir.int(steps * step - first));
  const hits = l.ir.op('eq', [
    l.ir.index('int32', l.ir.mod(shifted, step)),
    l.ir.const('int32', 0),
  ]);
  return {
    mask: l.ir.op('and', [inside, hits]),
    at: l.ir.sub(l.ir.div(shifted, step), l.ir.int(steps)),
  };
}

/** `src` where a dimension lies in a slice, else `base` (null: zero). */
function intoSlice(
  l: Lowering,
  base: LoweredTensor | null,
  src: LoweredTensor,
  sizes: Shape,
  dim: number,
  places: Places,
): LoweredTensor {
  const vars = l.vars(sizes);
  const length = src.shape[dim]!;
  if (isSame(length, 0)) return base ?? l.pointwise(sizes, l.ir.const(src.dtype, 0));
  const { mask, at } = placeInSlice(l, vars[dim]!, places, length);
  const loaded = src.load(vars.map((v, d) => (d === dim ? (length === 1 ? l.ir.int(0) : at) : v)));
  const dtype = base?.dtype ?? src.dtype;
  const inner = l.ir.masked(mask, l.ir.cast(loaded, dtype), 0);
  return l.pointwise(sizes, base === null ? inner : l.ir.op('where', [mask, inner, base.expr]));
}

/** The places of a slice of a dimension. */
function slicePlaces(size: Size, start: LoweredArg, step: LoweredArg): Places {
  return { start: sliceStart(size, start), step: Number(step ?? 1) };
}

const sliceScatter: SizedLoweringOf<'aten::slice_scatter'> = (
  l,
  [x, src, dim, start, , step],
  call,
) => {
  const at = wrapDim(Number(dim ?? 0), x.shape.length, call.op);
  return intoSlice(l, x, src, x.shape, at, slicePlaces(x.shape[at]!, start, step));
};

/** A tensor without the dimension as one with it, of size 1. */
function withDim(l: Lowering, x: LoweredTensor, dim: number): LoweredTensor {
  const sizes = [...x.shape];
  sizes.splice(dim, 0, 1);
  return x.view(
    sizes,
    l.vars(sizes).filter((_, d) => d !== dim),
  );
}

const selectScatter: SizedLoweringOf<'aten::select_scatter'> = (l, [x, src, dim, index], call) => {
  const at = wrapDim(Number(dim), x.shape.length, call.op);
  const start = selectedPlace(index, x.shape[at]!);
  return intoSlice(l, x, withDim(l, src, at), x.shape, at, {
    start,
    step: 1,
  });
};

const sliceBackward: SizedLoweringOf<'aten::slice_backward'> = (
  l,
  [grad, , dim, start, , step],
  call,
) => {
  const at = wrapDim(Number(dim), call.shape.length, call.op);
  return intoSlice(l, null, grad, call.shape, at, slicePlaces(call.shape[at]!, start, step));
};

const selectBackward: SizedLoweringOf<'aten::select_backward'> = (
  l,
  [grad, , dim, index],
  call,
) => {
  const at = wrapDim(Number(dim), call.shape.length, call.op);
  const start = selectedPlace(index, call.shape[at]!);
  return intoSlice(l, null, withDim(l, grad, at), call.shape, at, {
    start,
    step: 1,
  });
};

/** `src` on a diagonal, else `base` (null: zero). */
function intoDiagonal(
  l: Lowering,
  base: LoweredTensor | null,
  src: LoweredTensor,
  sizes: Shape,
  offset: number,
  dim1: number,
  dim2: number,
): LoweredTensor {
  const vars = l.vars(sizes);
  const [row, column] = [vars[dim1]!, vars[dim2]!];
  const on = l.ir.op('eq', [
    l.ir.index('int32', l.ir.add(row, l.ir.int(offset))),
    l.ir.index('int32', column),
  ]);
  const along = offset >= 0 ? row : column;
  const length = src.shape[src.shape.length - 1]!;
  const mask = l.ir.op('and', [on, within(l, along, 0, length)]);
  const others = vars.filter((_, d) => d !== dim1 && d !== dim2);
  const coords = [...others, along].map((coord, d) => (src.shape[d] === 1 ? l.ir.int(0) : coord));
  const inner = l.ir.masked(mask, l.ir.cast(src.load(coords), base?.dtype ?? src.dtype), 0);
  return l.pointwise(sizes, base === null ? inner : l.ir.op('where', [mask, inner, base.expr]));
}

const diagonalScatter: LoweringOf<'aten::diagonal_scatter'> = (
  l,
  [x, src, offset, dim1, dim2],
  call,
) => {
  const dims = [
    wrapDim(Number(dim1 ?? 0), x.shape.length, call.op),
    wrapDim(Number(dim2 ?? 1), x.shape.length, call.op),
  ] as const;
  return intoDiagonal(l, x, src, x.shape, Number(offset ?? 0), ...dims);
};

const diagonalBackward: LoweringOf<'aten::diagonal_backward'> = (
  l,
  [grad, , offset, dim1, dim2],
  call,
) => {
  const rank = call.shape.length;
  return intoDiagonal(
    l,
    null,
    grad,
    call.shape,
    Number(offset),
    wrapDim(Number(dim1), rank, call.op),
    wrapDim(Number(dim2), rank, call.op),
  );
};

/** Operators that take places and sizes as expressions. */
export const SIZED_SCATTERS: readonly string[] = [
  'aten::slice_scatter',
  'aten::select_scatter',
  'aten::slice_backward',
  'aten::select_backward',
];

/** Lowerings by overload name. */
export const concatLowerings: LoweringTable = lowerings({
  'aten::cat': cat,
  'aten::stack': stack,
  'aten::constant_pad_nd': constantPad,
  'aten::slice_scatter': sliceScatter,
  'aten::select_scatter': selectScatter,
  'aten::diagonal_scatter': diagonalScatter,
  'aten::diagonal_backward': diagonalBackward,
  'aten::slice_backward': sliceBackward,
  'aten::select_backward': selectBackward,
});
