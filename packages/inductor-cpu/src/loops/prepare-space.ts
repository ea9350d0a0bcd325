/**
 * @file Simplifies the loops of a kernel before code is chosen: drops, merges and splits variables.
 *
 * Fewer variables mean longer vectors and no index arithmetic per row; see `LoopSpace` for what merging
 * and splitting mean.
 */
import { type Size, sizeMul } from '@tessera/shared';
import type { IndexExpr, SizedLoop } from '@tessera/inductor-core';
import { LoopSpace, type Affine } from '../body/loop-space.js';

/** A loop space with the variables that remain, outermost first. */
export interface PreparedSpace<Group extends string> {
  readonly space: LoopSpace;
  readonly groups: Readonly<Record<Group, readonly string[]>>;
}

/** Digits shorter than this are not worth a loop of their own. */
const SHORTEST_DIGIT = 8;

/**
 * Variables of each group (such as outer and inner) are merged and split among themselves.
 *
 * @param indices every index expression that is used with the variables
 */
export function prepareSpace<Group extends string>(
  vars: Readonly<Record<Group, readonly SizedLoop[]>>,
  indices: readonly IndexExpr[],
): PreparedSpace<Group> {
  const all = Object.values<readonly SizedLoop[]>(vars).flat();
  const space = new LoopSpace(all);
  for (const { name, size } of all) if (size === 1) space.fix(name);
  const groups = {} as Record<Group, string[]>;
  for (const group of Object.keys(vars) as Group[]) {
    const names = vars[group].filter(({ size }) => size !== 1).map(({ name }) => name);
    const split = names.flatMap((name) => {
      const units = digitUnits(space, name, indices);
      return units === undefined ? [name] : space.split(name, units);
    });
    groups[group] = mergeNeighbours(space, split, indices);
  }
  return { space, groups };
}

/** Every affine form that occurs in the indices, inside divisions too. */
function formsOf(space: LoopSpace, indices: readonly IndexExpr[]): Affine[] {
  const found: Affine[] = [];
  const visit = (form: Affine): void => {
    found.push(form);
    for (const atom of form.atoms) {
      if (atom.kind === 'product') atom.factors.forEach(visit);
      else if (atom.kind !== 'value') visit(atom.num);
    }
  };
  for (const index of indices) visit(space.affine(index));
  return found;
}

function mergeNeighbours(
  space: LoopSpace,
  names: readonly string[],
  indices: readonly IndexExpr[],
): string[] {
  const left = [...names];
  for (let i = left.length - 2; i >= 0; i--) {
    const [outer, inner] = [left[i] as string, left[i + 1] as string];
    const size = space.size(inner);
    const fits = formsOf(space, indices).every(
      (form) => (form.terms.get(outer) ?? 0) === sizeMul(size, form.terms.get(inner) ?? 0),
    );
    // Addresses and trip counts are unsigned 32-bit numbers.
    const points = sizeMul(space.size(outer), size);
    if (!fits || (typeof points === 'number' && points > 2 ** 31)) continue;
    space.merge(outer, inner);
    left.splice(i, 1);
  }
  return left;
}

/** Units of the digits by which indices divide a variable, highest first; undefined if it is better left whole. */
function digitUnits(
  space: LoopSpace,
  name: string,
  indices: readonly IndexExpr[],
): number[] | undefined {
  const total = space.size(name);
  const units = new Set<Size>();
  const plain = (form: Affine): boolean =>
    form.constant === 0 &&
    form.atoms.length === 0 &&
    form.terms.size === 1 &&
    form.terms.get(name) === 1;
  for (const form of formsOf(space, indices)) {
    for (const atom of form.atoms) {
      if (atom.kind !== 'div' && atom.kind !== 'mod') continue;
      const inner = atom.num.atoms[0];
      if (plain(atom.num)) units.add(atom.den);
      else if (
        atom.num.terms.size === 0 &&
        atom.num.constant === 0 &&
        atom.num.atoms.length === 1 &&
        inner?.kind === 'div' &&
        inner.coefficient === 1 &&
        plain(inner.num)
      ) {
        units.add(inner.den);
        units.add(sizeMul(inner.den, atom.den));
      }
    }
  }
  // Digits of symbolic sizes were split where the kernel was built.
  if (typeof total !== 'number') return undefined;
  const rising = [...units]
    .filter((unit): unit is number => typeof unit === 'number' && unit > 1 && unit < total)
    .sort((a, b) => a - b);
  const isChain =
    rising.every((unit, i) => unit % (rising[i - 1] ?? 1) === 0) &&
    total % (rising[rising.length - 1] ?? 1) === 0;
  if (rising.length === 0 || !isChain || (rising[0] as number) < SHORTEST_DIGIT) return undefined;
  return [...rising.reverse(), 1];
}
