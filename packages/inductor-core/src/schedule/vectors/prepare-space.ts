/**
 * @file Simplifies the loops of a kernel before code is chosen: drops, merges and splits variables.
 *
 * Fewer variables mean longer vectors and no index arithmetic per row; see `LoopSpace` for what merging
 * and splitting mean.
 */
import { type Size, sizeMul } from '@tessera/shared';
import type { Stmt } from '../../ir/expr.js';
import { divisorOf } from '../../ir/index-bounds.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import type { LoopKernel } from '../../ir/kernel.js';
import { otherParts } from '../../ir/linear-form.js';
import { indexOf, indexValues, postorder, stmtRoots } from '../../ir/walk.js';
import { LoopSpace } from './loop-space.js';
import { formsOf, mergeVariables } from './merge-variables.js';

/** A loop space with the names of the variables that remain, outermost first. */
export interface PreparedSpace {
  readonly space: LoopSpace;
  readonly outer: readonly string[];
  readonly inner: readonly string[];
}

/** Digits shorter than this are not worth a loop of their own. */
const SHORTEST_DIGIT = 8;

/** Variable of a kernel that has none: it still needs one along its lanes. */
const UNIT = 'unit';

/** Index expressions of a kernel. */
function indicesOf({ stages }: LoopKernel<Size>): IndexExpr[] {
  const statements = stages.flatMap(({ body }) => body);
  const found = new Set<IndexExpr>();
  for (const stmt of statements) if (stmt.kind === 'store') found.add(stmt.index);
  for (const expr of postorder(statements.flatMap(stmtRoots))) {
    const index = indexOf(expr);
    if (index !== null) found.add(index);
  }
  return [...found];
}

/** Whether inner points only store: two of them may meet at a place, and they are taken one after another. */
export function takesSteps({ inner, stages }: LoopKernel<Size>): boolean {
  const isStore = ({ kind }: Stmt): boolean => kind === 'store';
  return inner.length > 0 && stages.every(({ body }) => body.every(isStore));
}

/** Whether a statement stores to a computed place. */
export function isPlaced(stmt: Stmt): boolean {
  return stmt.kind === 'store' && indexValues(stmt.index).length > 0;
}

/** Outer and inner variables are merged and split among themselves. */
export function prepareSpace(kernel: LoopKernel<Size>): PreparedSpace {
  const indices = indicesOf(kernel);
  const all = [...kernel.outer, ...kernel.inner];
  const space = new LoopSpace(all);
  for (const { name, size } of all) if (size === 1) space.fix(name);
  const [outer, inner] = [kernel.outer, kernel.inner].map((vars) => {
    const names = vars.filter(({ size }) => size !== 1).map(({ name }) => name);
    const split = names.flatMap((name) => {
      const units = digitUnits(space, name, indices);
      return units === undefined ? [name] : space.split(name, units);
    });
    return mergeVariables(space, split, indices);
  });
  // Points that follow each other are not taken together: the only one of the outer loops is a lane then.
  if (outer.length > 0 || (inner.length > 0 && !takesSteps(kernel))) return { space, outer, inner };
  space.addUnit(UNIT);
  return { space, outer: [UNIT], inner };
}

/** Units of the digits by which indices divide a variable, highest first; undefined if it is better left whole. */
function digitUnits(
  space: LoopSpace,
  name: string,
  indices: readonly IndexExpr[],
): number[] | undefined {
  const total = space.size(name);
  const units = new Set<Size>();
  const isPlain = (index: IndexExpr): boolean => index.kind === 'sym' && index.name === name;
  for (const form of formsOf(space, indices)) {
    for (const [part] of otherParts(form)) {
      if (part.kind !== 'div' && part.kind !== 'mod') continue;
      const { num } = part;
      const unit = divisorOf(part.den)!;
      const inner = num.kind === 'div' ? divisorOf(num.den)! : 1;
      if (isPlain(num)) units.add(unit);
      else if (num.kind === 'div' && isPlain(num.num)) units.add(inner).add(sizeMul(inner, unit));
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
  if (rising.length === 0 || !isChain || rising[0] < SHORTEST_DIGIT) return undefined;
  return [...rising.reverse(), 1];
}
