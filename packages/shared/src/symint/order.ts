/**
 * @file The canonical order of operands, which depends on structure only.
 *
 * Sums and products are sorted with it, so an expression prints the same however it was built.
 */
import type { Size } from './size.js';
import type { SymInt, SymIntKind } from './sym-int.js';

const KIND_ORDER: Readonly<Record<SymIntKind, number>> = {
  symbol: 0,
  floordiv: 1,
  mod: 2,
  min: 3,
  max: 4,
  sum: 5,
  product: 6,
};

/** Orders any two sizes of one environment; 0 only for identical ones. Numbers come last. */
export function compareSizes(left: Size, right: Size): number {
  let a = left;
  let b = right;
  // Different nodes differ in structure, so following the first differing operand ends at a
  // difference: no stack is needed.
  for (;;) {
    if (a === b) return 0;
    if (typeof a === 'number') return typeof b === 'number' ? a - b : 1;
    if (typeof b === 'number') return -1;
    const byHead = compareHeads(a, b);
    if (byHead !== 0) return byHead;
    let i = 0;
    while (a.args[i] === b.args[i]) i++;
    [a, b] = [a.args[i], b.args[i]];
  }
}

/** Everything but the operands; symbols are in order of creation. */
function compareHeads(a: SymInt, b: SymInt): number {
  if (a.kind !== b.kind) return KIND_ORDER[a.kind] - KIND_ORDER[b.kind];
  if (a.kind === 'symbol') return a.id - b.id;
  if (a.args.length !== b.args.length) return a.args.length - b.args.length;
  if (a.args.some((arg, i) => arg !== b.args[i])) return 0;
  for (let i = 0; i < a.coeffs.length; i++) {
    if (a.coeffs[i] !== b.coeffs[i]) return a.coeffs[i] - b.coeffs[i];
  }
  return a.constant - b.constant;
}

/** The atoms of a monomial, sorted, repeated for powers. */
export function monomialFactors(monomial: SymInt): readonly SymInt[] {
  return monomial.kind === 'product' ? (monomial.args as readonly SymInt[]) : [monomial];
}

/** Orders monomials as textbooks write polynomials: higher degree first, then by factors. */
export function compareMonomials(a: SymInt, b: SymInt): number {
  if (a === b) return 0;
  const left = monomialFactors(a);
  const right = monomialFactors(b);
  if (left.length !== right.length) return right.length - left.length;
  for (let i = 0; i < left.length; i++) {
    const order = compareSizes(left[i], right[i]);
    if (order !== 0) return order;
  }
  return 0;
}
