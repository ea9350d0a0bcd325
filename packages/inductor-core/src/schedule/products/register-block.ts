/**
 * @file A thread's block of results of a product, in registers named one by one: arrays might be kept in memory.
 *
 * Rows are in groups of four, columns in vectors of four.
 */
import type { RegisterStmt, RegisterValue } from '../kernel/registers.js';

/** Names of the registers: `c0_1` is the second vector of the first row. */
export function registerBlock(prefix: string, rows: number, groups: number): string[][] {
  return Array.from({ length: rows }, (_, i) =>
    Array.from({ length: groups }, (__, g) => `${prefix}${i}_${g}`),
  );
}

/** Adds the products of one row of both slabs: `a(g)` has four rows' factors, `b(g)` those of four columns. */
export function addProducts(
  to: readonly (readonly string[])[],
  a: (group: number) => RegisterValue,
  b: (group: number) => RegisterValue,
): RegisterStmt[] {
  const named = (
    name: string,
    count: number,
    value: (group: number) => RegisterValue,
  ): Extract<RegisterStmt, { kind: 'set' }>[] =>
    Array.from({ length: count }, (_, g) => ({
      kind: 'set',
      register: `${name}${g}`,
      value: value(g),
    }));
  const rows = named('a', to.length / 4, a);
  const columns = named('b', to[0]!.length, b);
  const names = (set: typeof rows): string[] => set.map(({ register }) => register);
  return [
    ...rows,
    ...columns,
    { kind: 'multiply', to, rows: names(rows), columns: names(columns) },
  ];
}
