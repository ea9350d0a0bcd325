/**
 * @file Strides of lists of loop variables.
 *
 * An operand that is a plain load at `constant + Σ stride · variable` needs no expression code at all:
 * it is packed by copying, or read where it lies. Several loop variables act as one when the stride of
 * each is the stride of the next times its extent (`[c, kh, kw]` of contiguous weights).
 */
import type { Affine, IndexExpr, LoopSpace, SizedLoop } from '@tessera/inductor-core';
import { type Size, sizeMul, sizeProduct } from '@tessera/shared';

/** An index as multiples of loop variables; null where it is more than that (quotients, run-time values). */
export function stridesOf(space: LoopSpace, index: IndexExpr): Affine | null {
  const form = space.affine(index);
  return form.atoms.length === 0 ? form : null;
}

/** Product of the extents. */
export function extent(vars: readonly SizedLoop[]): Size {
  return sizeProduct(vars.map(({ size }) => size));
}

/**
 * The stride at which the flattened variables advance, or null when they do not act as one.
 * Variables of extent one do not matter; no variable that matters gives 0.
 */
export function flatStride(index: Affine, vars: readonly SizedLoop[]): Size | null {
  let stride: Size | null = null;
  let step: Size = 1;
  for (const each of vars.toReversed()) {
    if (each.size === 1) continue;
    const own = index.terms.get(each.name) ?? 0;
    if (stride === null) stride = own;
    else if (own !== sizeMul(stride, step)) return null;
    step = sizeMul(step, each.size);
  }
  return stride ?? 0;
}
