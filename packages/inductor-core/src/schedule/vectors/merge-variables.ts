/**
 * @file Merging neighbouring loop variables that every index treats as one.
 */
import { sizeMul } from '@tessera/shared';
import type { IndexExpr } from '../../ir/index-expr.js';
import { type LinearForm, coefficientOf, otherParts } from '../../ir/linear-form.js';
import type { LoopSpace } from './loop-space.js';

/** Addresses and trip counts are unsigned 32-bit numbers. */
const MOST_POINTS = 2 ** 31;

/** The form of every index, and of every part of one inside divisions and products. */
export function formsOf(space: LoopSpace, indices: readonly IndexExpr[]): LinearForm[] {
  const forms = indices.map((index) => space.linear(index));
  // What is found is visited too.
  for (const form of forms)
    for (const [part] of otherParts(form)) {
      if (part.kind === 'mul') forms.push(...part.factors.map((factor) => space.linear(factor)));
      else if (part.kind !== 'value') forms.push(space.linear(part.num));
    }
  return forms;
}

/** Merges variables of a space, outermost first, where all `indices` allow it; returns the names that are left. */
export function mergeVariables(
  space: LoopSpace,
  names: readonly string[],
  indices: readonly IndexExpr[],
): string[] {
  const left = [...names];
  for (let i = left.length - 2; i >= 0; i--) {
    const [outer, inner] = [left[i]!, left[i + 1]!];
    const size = space.size(inner);
    const fits = formsOf(space, indices).every(
      (form) => coefficientOf(form, outer) === sizeMul(size, coefficientOf(form, inner)),
    );
    const points = sizeMul(space.size(outer), size);
    if (!fits || (typeof points === 'number' && points > MOST_POINTS)) continue;
    space.merge(outer, inner);
    left.splice(i, 1);
  }
  return left;
}
