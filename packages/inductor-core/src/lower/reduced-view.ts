/**
 * @file How the points of a tensor divide into result coordinates and reduced variables.
 */
import type { IndexExpr, SizedLoop } from '../ir/index-expr.js';
import type { Lowering } from './lowering.js';
import type { Shape } from './shape-math.js';

/** See the file header. */
export interface ReducedView {
  /** Sizes of the result. */
  readonly sizes: Shape;
  /** Coordinates in the tensor, over the result's canonical variables and `inner`. */
  readonly coords: readonly IndexExpr[];
  readonly inner: readonly SizedLoop[];
  /** All variables in the order of the tensor's dimensions. */
  readonly order: readonly SizedLoop[];
}

/** Splits the dimensions of `sizes` into kept and reduced ones. */
export function reducedView(
  l: Lowering,
  sizes: Shape,
  dims: readonly number[],
  keepdim: boolean,
): ReducedView {
  const reduced = new Set(dims);
  const result = keepdim
    ? sizes.map((size, d) => (reduced.has(d) ? 1 : size))
    : sizes.filter((_, d) => !reduced.has(d));
  const vars = l.vars(result);
  const inner: SizedLoop[] = [];
  const order: SizedLoop[] = [];
  let position = 0;
  const coords = sizes.map((size, d) => {
    if (reduced.has(d)) {
      if (keepdim) position++;
      const fresh = l.freshVar(`r${d}`, size);
      inner.push(...fresh.vars);
      order.push(...fresh.vars);
      return fresh.index;
    }
    const v = vars[position++]!;
    if (v.kind === 'sym') order.push({ name: v.name, size });
    return v;
  });
  return { sizes: result, coords, inner, order };
}
