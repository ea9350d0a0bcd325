/**
 * @file Merging neighbouring loop variables that every index treats as one.
 */
import { sizeMul } from '@tessera/shared';
import type { IndexExpr } from '../../ir/index-expr.js';
import type { Affine } from './affine.js';
import type { LoopSpace } from './loop-space.js';

/** Addresses and trip counts are unsigned 32-bit numbers. */
const MOST_POINTS = 2 ** 31;

/** Every affine form that occurs in indices, inside divisions and products too. */
export function formsOf(space: LoopSpace, indices: readonly IndexExpr[]): Affine[] {
  const forms = indices.map((index) => space.affine(index));
  // What is found is visited too.
  for (const { atoms } of forms)
    for (const atom of atoms) {
      if (atom.kind === 'product') forms.push(...atom.factors);
      else if (atom.kind !== 'value') forms.push(atom.num);
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
      (form) => (form.terms.get(outer) ?? 0) === sizeMul(size, form.terms.get(inner) ?? 0),
    );
    const points = sizeMul(space.size(outer), size);
    if (!fits || (typeof points === 'number' && points > MOST_POINTS)) continue;
    space.merge(outer, inner);
    left.splice(i, 1);
  }
  return left;
}
