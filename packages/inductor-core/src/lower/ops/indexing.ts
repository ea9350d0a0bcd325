/**
 * @file Gathers: reading a tensor at positions computed at run time.
 *
 * A position outside the tensor is refused, as by eager (checked-value.ts). Scatters are in scatter.ts.
 */
import { wrapDim } from '@tessera/tensor/internal';
import type { Size } from '@tessera/shared';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import {
  checkedPosition,
  checkedRead,
  checkedScalar,
  position,
  wrapped,
} from '../checked-value.js';
import { LoweredTensor } from '../lowered-tensor.js';
import type { Lowering } from '../lowering.js';
import type { LoweredArg } from '../registry.js';
import type { Shape } from '../shape-math.js';
import { type LoweringOf, type LoweringTable, lowerings } from '../typed-lowering.js';

/** A gather reads its source at arbitrary places: values worth keeping get memory. */
function gatherSource(l: Lowering, x: LoweredTensor): LoweredTensor {
  if (!x.isRealized && l.costOf(x.expr).expensive && l.costOf(x.expr).loads > 3) x.realize();
  return x;
}

/** The element at `vars`, but at `chosen` along one dimension. */
function readAlong(
  l: Lowering,
  x: LoweredTensor,
  vars: readonly IndexExpr[],
  along: number,
  chosen: IndexExpr,
): Expr {
  // Of one position, without dimensions, there are no variables.
  return checkedRead(l, x.load(x.shape.map((_, d) => (d === along ? chosen : vars[d]!))), [chosen]);
}

/** embedding: weight, indices. */
const embedding: LoweringOf<'aten::embedding'> = (l, [table, index], call) => {
  const vars = l.vars(call.shape);
  const named = index.load(vars.slice(0, index.shape.length));
  const row = checkedPosition(l, 'embedding', named, table.shape[0]!);
  const value = table.load([row, vars[vars.length - 1]!]);
  return l.pointwise(call.shape, checkedRead(l, value, [row]));
};

const indexSelect: LoweringOf<'aten::index_select'> = (l, [self, dim, at], call) => {
  const x = gatherSource(l, self);
  const vars = l.vars(call.shape);
  if (x.shape.length === 0) {
    const named = at.load(at.shape.map(() => vars[0] ?? l.ir.int(0)));
    return l.pointwise(call.shape, checkedScalar(l, 'index_select', named, x.load([])));
  }
  const along = wrapDim(Number(dim), x.shape.length, call.op);
  const named = at.load(at.shape.length === 0 ? [] : [vars[along]!]);
  const chosen = checkedPosition(l, 'index_select', named, x.shape[along]!);
  return l.pointwise(call.shape, readAlong(l, x, vars, along, chosen));
};

const gather: LoweringOf<'aten::gather'> = (l, [self, dim, at], call) => {
  const x = gatherSource(l, self);
  if (x.shape.length === 0)
    return l.pointwise(call.shape, checkedScalar(l, 'gather', at.expr, x.load([])));
  const along = wrapDim(Number(dim), x.shape.length, call.op);
  const chosen = checkedPosition(l, 'gather', at.expr, x.shape[along]!);
  return l.pointwise(call.shape, readAlong(l, x, l.vars(call.shape), along, chosen));
};

/** How the dimensions of an advanced index come together. */
export interface AdvancedIndex {
  /** Coordinates in the indexed tensor at the canonical variables of the result. */
  readonly coords: IndexExpr[];
  /** Dimensions of the result that are those of the indices. */
  readonly along: readonly number[];
}

/**
 * Coordinates of `x[indices]`: index tensors broadcast together and stand where the first of them is,
 * or in front if they are not adjacent. `place` makes places of indices. @see numpy advanced indexing
 */
export function advancedIndex(
  l: Lowering,
  x: LoweredTensor,
  indices: readonly LoweredArg[],
  sizes: Shape,
  place: (index: Expr, size: Size) => IndexExpr,
): AdvancedIndex {
  const given = indices.map((index) => (index instanceof LoweredTensor ? index : null));
  const used = given.flatMap((index, d) => (index === null ? [] : [d]));
  const first = used[0] ?? 0;
  const adjacent = used.every((d, i) => d === first + i);
  const shared = Math.max(0, ...given.map((index) => index?.shape.length ?? 0));
  const start = adjacent ? first : 0;
  const vars = l.vars(sizes);
  const sharedVars = vars.slice(start, start + shared);
  const sharedSizes = sizes.slice(start, start + shared);
  const others = [...vars.slice(0, start), ...vars.slice(start + shared)];
  const coords = x.shape.map((size, d) => {
    const index = given[d] ?? null;
    if (index === null) return others.shift()!;
    const lead = sharedSizes.length - index.shape.length;
    const named = index.load(
      index.shape.map((s, i) => (s === 1 ? l.ir.int(0) : sharedVars[i + lead]!)),
    );
    return place(named, size);
  });
  return { coords, along: sharedSizes.map((_, i) => start + i) };
}

/** Masks select a number of elements that is known only at run time. */
export function hasMask(indices: readonly (LoweredTensor | null)[]): boolean {
  return indices.some((index) => index?.dtype === 'bool' || index?.dtype === 'uint8');
}

function indexTensor(isSafe: boolean): LoweringOf<'aten::index.Tensor'> {
  return (l, [self, indices], call) => {
    if (hasMask(indices)) return null;
    const x = gatherSource(l, self);
    const place = (index: Expr, size: Size): IndexExpr =>
      isSafe
        ? position(l, wrapped(l, index, size), size)
        : checkedPosition(l, 'index', index, size, true);
    const { coords } = advancedIndex(l, x, indices, call.shape, place);
    return l.pointwise(call.shape, checkedRead(l, x.load(coords), coords));
  };
}

/** Lowerings by overload name. */
export const indexingLowerings: LoweringTable = lowerings({
  'aten::embedding': embedding,
  'aten::index_select': indexSelect,
  'aten::gather': gather,
  'aten::index.Tensor': indexTensor(false),
});
