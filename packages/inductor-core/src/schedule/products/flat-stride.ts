/**
 * @file Strides of lists of loop variables.
 *
 * An operand that is a plain load at `constant + Σ stride · variable` needs no expression code at all:
 * it is packed by copying, or read where it lies. Several loop variables act as one when the stride of
 * each is the stride of the next times its extent (`[c, kh, kw]` of contiguous weights).
 */
import { type Size, sizeMul } from '@tessera/shared';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import { type LinearForm, coefficientOf, isLinear } from '../../ir/linear-form.js';
import type { LoopSpace } from '../vectors/loop-space.js';

/** An index as multiples of loop variables; null where it is more than that (quotients, run-time values). */
export function stridesOf(space: LoopSpace, index: IndexExpr): LinearForm | null {
  const form = space.linear(index);
  return isLinear(form) ? form : null;
}

/**
 * The stride at which the flattened variables advance, or null when they do not act as one.
 * Variables of extent one do not matter; no variable that matters gives 0.
 */
export function flatStride(index: LinearForm, vars: readonly SizedLoop[]): Size | null {
  let stride: Size | null = null;
  let step: Size = 1;
  for (const each of vars.toReversed()) {
    if (each.size === 1) continue;
    const own = coefficientOf(index, each.name);
    if (stride === null) stride = own;
    else if (own !== sizeMul(stride, step)) return null;
    step = sizeMul(step, each.size);
  }
  return stride ?? 0;
}
