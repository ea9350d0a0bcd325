/**
 * @file Stores to arrays that the stored values are made of.
 */
import type { Expr, Stmt } from '../../ir/expr.js';
import { postorder } from '../../ir/walk.js';

/** A store, to a buffer or an array. */
export type StoreStmt = Extract<Stmt, { kind: 'store' }>;

/** The stores among statements; of other values, if asked to. */
export function storesOf(
  stmts: readonly Stmt[],
  value: (value: Expr) => Expr = (same) => same,
): StoreStmt[] {
  return stmts.flatMap((stmt) =>
    stmt.kind === 'store' ? [{ ...stmt, value: value(stmt.value) }] : [],
  );
}

/**
 * Puts stores of which each has its array for itself in an order in which nothing is overwritten that another value still
 * needs. Where there is none, a value waits in another array, at the same place.
 *
 * @param other declares an array like one, and gives its name
 * @param read what a store wrote
 */
export function inPlace(
  stores: readonly StoreStmt[],
  other: (array: string) => string,
  read: (store: StoreStmt) => Expr,
): StoreStmt[] {
  const left = [...stores];
  const made: StoreStmt[] = [];
  const waiting: StoreStmt[] = [];
  const needs = (value: Expr, buf: string): boolean =>
    postorder([value]).some((expr) => expr.kind === 'load' && expr.buf === buf);
  while (left.length > 0) {
    const at = left.findIndex(
      (store) => !left.some((each) => each !== store && needs(each.value, store.buf)),
    );
    const [store] = left.splice(Math.max(at, 0), 1);
    const first = at < 0 ? { ...store, buf: other(store.buf) } : store;
    made.push(first);
    if (at < 0) waiting.push({ ...store, value: read(first) });
  }
  return [...made, ...waiting];
}
