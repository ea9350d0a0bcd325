/**
 * @file What a part of a kernel needs of the kernel's parameters, where several kernels stand for one.
 */
import type { Expr, Stmt } from '../../ir/expr.js';
import type { BufferParam, ScalarParam } from '../../ir/kernel.js';
import { postorder, stmtRoots } from '../../ir/walk.js';

/** Parameters of a kernel. */
export interface Parameters {
  readonly params: readonly BufferParam[];
  readonly scalars: readonly ScalarParam[];
}

/** The parameters that expressions and stores use, and others behind them. */
export function usedParameters(
  kernel: Parameters,
  roots: readonly Expr[],
  stores: readonly Stmt[] = [],
  others: readonly BufferParam[] = [],
): Parameters {
  const names = new Set(stores.flatMap((stmt) => (stmt.kind === 'store' ? [stmt.buf] : [])));
  for (const expr of postorder([...roots, ...stores.flatMap(stmtRoots)])) {
    if (expr.kind === 'load') names.add(expr.buf);
    else if (expr.kind === 'scalar') names.add(expr.name);
  }
  const isUsed = ({ name }: { readonly name: string }): boolean => names.has(name);
  return {
    params: [...kernel.params.filter(isUsed), ...others],
    scalars: kernel.scalars.filter(isUsed),
  };
}

/** A name that nothing in a list has, as close to `wanted` as possible. */
export function unusedName(taken: readonly { readonly name: string }[], wanted: string): string {
  let name = wanted;
  while (taken.some((other) => other.name === name)) name += '_';
  return name;
}
