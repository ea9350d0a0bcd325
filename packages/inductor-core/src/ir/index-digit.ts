/**
 * @file Digits of an index: what flattening and cutting make of a coordinate.
 */
import type { Size } from '@tessera/shared';
import { divisorOf } from './index-bounds.js';
import type { IndexExpr } from './index-expr.js';

/** `(base div by) mod modulus`. */
export interface Digit {
  readonly base: IndexExpr;
  readonly by: Size;
  readonly modulus: Size;
}

/** Reads `(base div by) mod modulus`. */
export function digitOf(atom: IndexExpr): Digit | null {
  const modulus = atom.kind === 'mod' ? divisorOf(atom.den) : null;
  if (atom.kind !== 'mod' || modulus === null) return null;
  const { num } = atom;
  const by = num.kind === 'div' ? divisorOf(num.den) : null;
  if (num.kind === 'div' && by !== null) return { base: num.num, by, modulus };
  return { base: num, by: 1, modulus };
}
