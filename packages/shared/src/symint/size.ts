/**
 * @file `Size`: a plain number or a symbolic integer, and arithmetic on both.
 *
 * Shape code (meta rules, view arithmetic, lowering) is written once with these functions: on plain
 * numbers they are one `typeof` test and the operation. The comparisons that return a boolean record
 * a guard when the answer depends on a symbol; `sizeKnown` never does.
 */
import { TesseraError } from '../errors.js';
import { compareNumbers, floorDivNumbers, modNumbers } from './integer-arithmetic.js';
import type { RelationOp } from './integer-arithmetic.js';
import type { SymInt, SymIntOwner } from './sym-int.js';

/** Number of elements along a dimension, a stride or an offset: plain or symbolic. */
export type Size = number | SymInt;

/** True for a plain number. */
export function isStatic(size: Size): size is number {
  return typeof size === 'number';
}

/** True when every size is a plain number. */
export function allStatic(sizes: readonly Size[]): sizes is readonly number[] {
  for (const size of sizes) if (typeof size !== 'number') return false;
  return true;
}

/** `a + b`. */
export function sizeAdd(a: Size, b: Size): Size {
  if (typeof a === 'number' && typeof b === 'number') return a + b;
  return envOf(a, b).addScaled(a, b, 1);
}

/** `a - b`. */
export function sizeSub(a: Size, b: Size): Size {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return envOf(a, b).addScaled(a, b, -1);
}

/** `-a`. */
export function sizeNeg(a: Size): Size {
  return typeof a === 'number' ? 0 - a : a.env.multiply(a, -1);
}

/** `a * b`. */
export function sizeMul(a: number, b: number): number;
export function sizeMul(a: Size, b: Size): Size;
export function sizeMul(a: Size, b: Size): Size {
  if (typeof a === 'number' && typeof b === 'number') return a * b + 0; // + 0: no negative zero
  return envOf(a, b).multiply(a, b);
}

/** Sum of all sizes; 0 for none. */
export function sizeSum(sizes: readonly Size[]): Size {
  if (allStatic(sizes)) return sizes.reduce((total, size) => total + size, 0);
  return envOfAll(sizes).sum(sizes);
}

/** Product of all sizes, such as the number of elements of a shape; 1 for none. */
export function sizeProduct(sizes: readonly Size[]): Size {
  let product: Size = 1;
  for (const size of sizes) product = sizeMul(product, size);
  return product;
}

/** `floor(a / b)`. @throws invalid-argument for a zero divisor. */
export function sizeFloorDiv(a: Size, b: Size): Size {
  if (typeof a === 'number' && typeof b === 'number') return floorDivNumbers(a, b);
  return envOf(a, b).floorDiv(a, b);
}

/** `ceil(a / b)`. @throws invalid-argument for a zero divisor. */
export function sizeCeilDiv(a: Size, b: Size): Size {
  return sizeNeg(sizeFloorDiv(sizeNeg(a), b));
}

/** `a - b * floor(a / b)`: the remainder with the sign of `b`. @throws invalid-argument for zero. */
export function sizeMod(a: Size, b: Size): Size {
  if (typeof a === 'number' && typeof b === 'number') return modNumbers(a, b);
  return envOf(a, b).mod(a, b);
}

/** Smallest of the sizes. */
export function sizeMin(first: Size, ...rest: readonly Size[]): Size {
  return extremum('min', first, rest);
}

/** Largest of the sizes. */
export function sizeMax(first: Size, ...rest: readonly Size[]): Size {
  return extremum('max', first, rest);
}

function extremum(kind: 'min' | 'max', first: Size, rest: readonly Size[]): Size {
  const sizes = [first, ...rest];
  if (allStatic(sizes)) return Math[kind](...sizes);
  return envOfAll(sizes).extremum(kind, sizes);
}

/** Whether `a === b`; records a guard when it depends on a symbol. */
export function sizeEq(a: Size, b: Size): boolean {
  if (a === b) return true;
  if (typeof a === 'number' && typeof b === 'number') return false;
  return envOf(a, b).guard(a, '==', b);
}

/** Whether `a < b`; records a guard when it depends on a symbol. */
export function sizeLt(a: Size, b: Size): boolean {
  if (typeof a === 'number' && typeof b === 'number') return a < b;
  return envOf(a, b).guard(a, '<', b);
}

/** The answer where it is certain for every allowed size, else undefined; never records a guard. */
export function sizeKnown(a: Size, op: RelationOp, b: Size): boolean | undefined {
  if (typeof a === 'number' && typeof b === 'number') return compareNumbers(a, op, b);
  return envOf(a, b).known(a, op, b);
}

/** The value for the sizes seen while capturing; records no guard. */
export function sizeHint(size: Size): number {
  return typeof size === 'number' ? size : size.hint;
}

function envOf(a: Size, b: Size): SymIntOwner {
  if (typeof a === 'number') return (b as SymInt).env;
  if (typeof b !== 'number' && a.env !== b.env) throw mixedEnvironments(a, b);
  return a.env;
}

function envOfAll(sizes: readonly Size[]): SymIntOwner {
  const symbolic = sizes.filter((size) => typeof size !== 'number');
  for (const size of symbolic)
    if (size.env !== symbolic[0].env) throw mixedEnvironments(symbolic[0], size);
  return symbolic[0].env;
}

function mixedEnvironments(a: SymInt, b: SymInt): TesseraError {
  return new TesseraError(
    'invalid-argument',
    `The symbolic sizes ${a.toString()} and ${b.toString()} belong to different captures.`,
    {
      context: { left: a.toString(), right: b.toString() },
      hints: ['Do not keep symbolic sizes beyond the compiled call that created them.'],
    },
  );
}
