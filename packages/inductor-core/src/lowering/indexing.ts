/**
 * @file Gathers: reading a tensor at positions computed at run time.
 *
 * A position outside the tensor is clamped into it: eager reports it, compiled code must not read or
 * write elsewhere. Scatters are in scatter.ts.
 */
import { wrapDim } from '@tessera/tensor';
import type { Expr } from '../ir/expr.js';
import type { IndexExpr } from '../ir/index-expr.js';
import { tensorArg } from './elementwise.js';
import { ExprMath } from './expr-math.js';
import { LoweredTensor } from './lowered-tensor.js';
import type { Lowering } from './lowering.js';
import type { LoweredArg, LoweringFn } from './registry.js';

/** A run-time position in a dimension of `size`, clamped; negative ones count from the end if `wrap`. */
export function position(l: Lowering, value: Expr, size: number, wrap = false): IndexExpr {
  if (value.kind === 'index' || value.kind === 'const') {
    const { min, max } = l.ir.bounds(l.ir.value(value));
    if (min >= 0 && max < size) return l.ir.value(value);
  }
  const m = new ExprMath(l.ir);
  const counted = wrap ? m.where(m.lt(value, 0), m.add(value, size), value) : value;
  return l.ir.value(m.min(m.max(counted, 0), size - 1));
}

/** A gather reads its source at arbitrary places: values worth keeping get memory. */
function gatherSource(l: Lowering, x: LoweredTensor): LoweredTensor {
  if (!x.isRealized && l.costOf(x.expr).expensive && l.costOf(x.expr).loads > 3) x.realize();
  return x;
}

/** embedding: weight, indices. */
const embedding: LoweringFn = (l, [weight, indices], call) => {
  const table = tensorArg(weight!, call.op);
  const index = tensorArg(indices!, call.op);
  const vars = l.vars(call.sizes);
  const row = position(l, index.load(vars.slice(0, index.sizes.length)), table.sizes[0]!);
  return l.pointwise(call.sizes, table.load([row, vars[vars.length - 1]!]));
};

const indexSelect: LoweringFn = (l, [self, dim, index], call) => {
  const x = gatherSource(l, tensorArg(self!, call.op));
  const at = tensorArg(index!, call.op);
  if (x.sizes.length === 0) return l.pointwise(call.sizes, x.load([]));
  const along = wrapDim(Number(dim), x.sizes.length, call.op);
  const vars = l.vars(call.sizes);
  const chosen = position(l, at.load(at.sizes.length === 0 ? [] : [vars[along]!]), x.sizes[along]!);
  return l.pointwise(call.sizes, x.load(vars.map((v, d) => (d === along ? chosen : v))));
};

/** Coordinates without the constant 0 that size-1 dimensions have. */
function gatherCoords(vars: readonly IndexExpr[], along: number, chosen: IndexExpr): IndexExpr[] {
  return vars.map((v, d) => (d === along ? chosen : v));
}

const gather: LoweringFn = (l, [self, dim, index], call) => {
  const x = gatherSource(l, tensorArg(self!, call.op));
  const at = tensorArg(index!, call.op);
  if (x.sizes.length === 0) return l.pointwise(call.sizes, x.load([]));
  const along = wrapDim(Number(dim), x.sizes.length, call.op);
  const chosen = position(l, at.expr, x.sizes[along]!, true);
  return l.pointwise(call.sizes, x.load(gatherCoords(l.vars(call.sizes), along, chosen)));
};

/** How the dimensions of an advanced index come together. */
export interface AdvancedIndex {
  /** Coordinates in the indexed tensor at the canonical variables of the result. */
  readonly coords: IndexExpr[];
}

/**
 * Coordinates of `x[indices]`: index tensors broadcast together and stand where the first of them is,
 * or in front if they are not adjacent. @see numpy advanced indexing
 */
export function advancedIndex(
  l: Lowering,
  x: LoweredTensor,
  indices: readonly LoweredArg[],
  sizes: readonly number[],
): AdvancedIndex {
  const given = indices.map((index) => (index instanceof LoweredTensor ? index : null));
  const used = given.flatMap((index, d) => (index === null ? [] : [d]));
  const first = used[0] ?? 0;
  const adjacent = used.every((d, i) => d === first + i);
  const shared = Math.max(0, ...given.map((index) => index?.sizes.length ?? 0));
  const start = adjacent ? first : 0;
  const vars = l.vars(sizes);
  const sharedVars = vars.slice(start, start + shared);
  const sharedSizes = sizes.slice(start, start + shared);
  const others = [...vars.slice(0, start), ...vars.slice(start + shared)];
  const coords = x.sizes.map((size, d) => {
    const index = given[d] ?? null;
    if (index === null) return others.shift()!;
    const lead = sharedSizes.length - index.sizes.length;
    return position(
      l,
      index.load(index.sizes.map((s, i) => (s === 1 ? l.ir.int(0) : sharedVars[i + lead]!))),
      size,
      true,
    );
  });
  return { coords };
}

const indexTensor: LoweringFn = (l, [self, indices], call) => {
  const x = gatherSource(l, tensorArg(self!, call.op));
  return l.pointwise(
    call.sizes,
    x.load(advancedIndex(l, x, indices as readonly LoweredArg[], call.sizes).coords),
  );
};

/** Lowerings by overload name. */
export const indexingLowerings: Readonly<Record<string, LoweringFn>> = {
  'aten::embedding': embedding,
  'aten::index_select': indexSelect,
  'aten::gather': gather,
  'aten::index.Tensor': indexTensor,
  'aten::_unsafe_index.Tensor': indexTensor,
};
