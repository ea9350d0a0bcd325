/**
 * @file Lowerings that put a tensor inside another: pad, writes into a slice or a diagonal, and their gradients.
 *
 * Each is a pointwise value that chooses by position; a load outside its tensor is masked away.
 */
import { type Size, sizeAdd, sizeMul, sizeSub } from '@tessera/shared';
import { within } from '../within.js';
import { wrapDim } from '@tessera/tensor/internal';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import type { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import { type LoweredArg, RuntimeScalar } from '../registry.js';
import { expandTensor, selectedPlace, sizeArg, sliceStart } from './view-maps.js';
import { type Shape, fixed, isSame } from '../shape-math.js';
import { type LoweringTable, type SizedLoweringOf, lowerings } from '../typed-lowering.js';

/** `pad` lists (before, after) from the last dimension backwards; negative amounts crop. */
const constantPad: SizedLoweringOf<'aten::constant_pad_nd'> = (l, [x, pad, value], call) => {
  const amounts = pad.map(sizeArg);
  const rank = x.shape.length;
  const before = x.shape.map((_, d) => amounts[2 * (rank - 1 - d)] ?? 0);
  const vars = l.vars(call.shape);
  const coords = vars.map((v, d) => l.ir.sub(v, l.ir.size(before[d]!)));
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
  // A gradient may be broadcast to its part.
  const part = call.shape.filter((_, d) => d !== at);
  return intoSlice(l, null, withDim(l, expandTensor(l, grad, part), at), call.shape, at, {
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

const diagonalScatter: SizedLoweringOf<'aten::diagonal_scatter'> = (
  l,
  [x, src, offset, dim1, dim2],
  call,
) => {
  const dims = [
    wrapDim(Number(dim1 ?? 0), x.shape.length, call.op),
    wrapDim(Number(dim2 ?? 1), x.shape.length, call.op),
  ] as const;
  return intoDiagonal(l, x, src, x.shape, fixed(sizeArg(offset ?? 0)), ...dims);
};

const diagonalBackward: SizedLoweringOf<'aten::diagonal_backward'> = (
  l,
  [grad, , offset, dim1, dim2],
  call,
) => {
  const rank = call.shape.length;
  const [a, b] = [wrapDim(Number(dim1), rank, call.op), wrapDim(Number(dim2), rank, call.op)];
  const shift = fixed(sizeArg(offset));
  const [rows, columns] = [call.shape[a]!, call.shape[b]!];
  const length =
    typeof rows === 'number' && typeof columns === 'number'
      ? Math.max(Math.min(rows + Math.min(shift, 0), columns - Math.max(shift, 0)), 0)
      : grad.shape[rank - 2]!;
  const part = [...call.shape.filter((_, d) => d !== a && d !== b), length];
  return intoDiagonal(l, null, expandTensor(l, grad, part), call.shape, shift, a, b);
};

/** Operators that take places and sizes as expressions. */
export const SIZED_SCATTERS: readonly string[] = [
  'aten::constant_pad_nd',
  'aten::slice_scatter',
  'aten::select_scatter',
  'aten::diagonal_scatter',
  'aten::diagonal_backward',
  'aten::slice_backward',
  'aten::select_backward',
];

/** Lowerings by overload name. */
export const padAndScatterLowerings: LoweringTable = lowerings({
  'aten::constant_pad_nd': constantPad,
  'aten::slice_scatter': sliceScatter,
  'aten::select_scatter': selectScatter,
  'aten::diagonal_scatter': diagonalScatter,
  'aten::diagonal_backward': diagonalBackward,
  'aten::slice_backward': sliceBackward,
  'aten::select_backward': selectBackward,
});
