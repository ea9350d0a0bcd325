/**
 * @file Floor division, modulo, common divisors and comparison of plain integers, as symbolic sizes define them.
 */
import { TesseraError } from '../errors.js';
import type { Size } from './size.js';

/** A comparison of two sizes. */
export type RelationOp = '==' | '!=' | '<' | '<=' | '>' | '>=';

/** `floor(n / d)`. @throws invalid-argument for a zero divisor. */
export function floorDivNumbers(n: number, d: number): number {
  if (d === 0) throw divisionByZero(n);
  return Math.floor(n / d) + 0;
}

/** `n - d * floor(n / d)`. @throws invalid-argument for a zero divisor. */
export function modNumbers(n: number, d: number): number {
  if (d === 0) throw divisionByZero(n);
  const remainder = n % d;
  return (remainder !== 0 && remainder < 0 !== d < 0 ? remainder + d : remainder) + 0;
}

/** Greatest common divisor of magnitudes; `gcd(0, n)` is `|n|`. */
export function gcd(a: number, b: number): number {
  let [x, y] = [Math.abs(a), Math.abs(b)];
  while (y !== 0) [x, y] = [y, x % y];
  return x;
}

/** The error for dividing a size by zero. */
export function divisionByZero(n: Size): TesseraError {
  return new TesseraError('invalid-argument', `The size ${String(n)} is divided by zero.`, {
    context: { numerator: String(n) },
    hints: ['Check for empty dimensions before dividing by a size.'],
  });
}

/** The comparison `a op b`. */
export function compareNumbers(a: number, op: RelationOp, b: number): boolean {
  switch (op) {
    case '==':
      return a === b;
    case '!=':
      return a !== b;
    case '<':
      return a < b;
    case '<=':
      return a <= b;
    case '>':
      return a > b;
    case '>=':
      return a >= b;
  }
}
