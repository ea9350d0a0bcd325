/**
 * @file The loop variables of a matrix product: lines and depth are lists of variables, but most lists act as one.
 *
 * Neighbours that every index uses as one contiguous range are merged.
 */
import type { Expr, Stmt } from '../../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import { coefficientOf } from '../../ir/linear-form.js';
import { indexOf, postorder, stmtRoots } from '../../ir/walk.js';
import { LoopSpace } from '../vectors/loop-space.js';
import { mergeVariables } from '../vectors/merge-variables.js';

/** Lists of variables after merging, in one space. Every list has at least one variable. */
export interface MergedSpace {
  readonly space: LoopSpace;
  readonly lists: readonly (readonly SizedLoop[])[];
}

/** Merges within each list what the given expressions and statements allow. */
export function mergedSpace(
  lists: readonly (readonly SizedLoop[])[],
  batch: readonly SizedLoop[],
  roots: readonly Expr[],
  stores: readonly Stmt[],
): MergedSpace {
  // A list without extent still needs a variable to run vectors along.
  const filled = lists.map((list, i) =>
    list.length === 0 ? [{ name: `unit.${i}`, size: 1 }] : list,
  );
  const space = new LoopSpace([...filled.flat(), ...batch]);
  const indices = indicesOf(roots, stores);
  const merged = filled.map((list) => {
    // One variable stays, to run along.
    const long = list.filter(({ size }) => size !== 1);
    const kept = long.length === 0 ? list.slice(-1) : long;
    for (const each of list) if (!kept.includes(each)) space.fix(each.name);
    const names = kept.map(({ name }) => name);
    return mergeVariables(space, names, indices).map((name) => ({ name, size: space.size(name) }));
  });
  return { space, lists: merged };
}

function indicesOf(roots: readonly Expr[], stores: readonly Stmt[]): IndexExpr[] {
  const found = stores.flatMap((stmt) => (stmt.kind === 'store' ? [stmt.index] : []));
  for (const expr of postorder([...roots, ...stores.flatMap(stmtRoots)])) {
    const index = indexOf(expr);
    if (index !== null) found.push(index);
  }
  return found;
}

/** Loads that advance by one element along a variable, less those that jump. */
export function adjacency(expr: Expr, space: LoopSpace, name: string): number {
  let score = 0;
  for (const each of postorder([expr])) {
    const index = each.kind === 'load' ? indexOf(each) : null;
    if (index === null) continue;
    const stride = coefficientOf(space.linear(index), name);
    if (stride === 1) score++;
    else if (stride !== 0) score--;
  }
  return score;
}
