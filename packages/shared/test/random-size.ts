/**
 * @file Random size expressions in two forms: built with the size functions, and as a plain function
 * of the symbol values that computes the same thing by brute force.
 */
import {
  sizeAdd,
  sizeCeilDiv,
  sizeFloorDiv,
  sizeMax,
  sizeMin,
  sizeMod,
  sizeMul,
  sizeNeg,
  sizeSub,
} from '../src/index.js';
import type { Size } from '../src/index.js';
import type { RandomSource } from './random-source.js';

/** Values of the symbols by position. */
export type Values = readonly number[];

/** An expression and what it should evaluate to. */
export interface RandomSize {
  readonly size: Size;
  readonly compute: (values: Values) => number;
}

/** Brute-force evaluation met a division by zero: the expression has no value. */
export class DividedByZero extends Error {}

function divisorOf(value: number): number {
  if (value === 0) throw new DividedByZero();
  return value;
}

const floorDiv = (a: number, b: number): number => Math.floor(a / divisorOf(b));

/** An expression of at most `depth` levels over the symbols and small constants. */
export function randomSize(
  random: RandomSource,
  symbols: readonly Size[],
  depth: number,
): RandomSize {
  if (depth === 0 || random.integer(0, 5) === 0) {
    if (random.integer(0, 2) === 0) {
      const constant = random.integer(-4, 6);
      return { size: constant, compute: () => constant };
    }
    const index = random.integer(0, symbols.length - 1);
    return { size: symbols[index], compute: (values) => values[index] };
  }
  if (random.integer(0, 2) === 0) return affineDivision(random, symbols, depth - 1);
  const a = randomSize(random, symbols, depth - 1);
  const b = randomSize(random, symbols, depth - 1);
  switch (random.integer(0, 9)) {
    case 0:
    case 1:
      return { size: sizeAdd(a.size, b.size), compute: (v) => a.compute(v) + b.compute(v) };
    case 2:
      return { size: sizeSub(a.size, b.size), compute: (v) => a.compute(v) - b.compute(v) };
    case 3:
    case 4:
      return { size: sizeMul(a.size, b.size), compute: (v) => a.compute(v) * b.compute(v) };
    case 5:
      return dividing(a, b, sizeFloorDiv, floorDiv);
    case 6:
      return dividing(a, b, sizeMod, (x, y) => x - y * floorDiv(x, y));
    case 7:
      return {
        size: sizeMin(a.size, b.size),
        compute: (v) => Math.min(a.compute(v), b.compute(v)),
      };
    case 8:
      return {
        size: sizeMax(a.size, b.size),
        compute: (v) => Math.max(a.compute(v), b.compute(v)),
      };
    default:
      return random.integer(0, 1) === 0
        ? { size: sizeNeg(a.size), compute: (v) => -a.compute(v) }
        : dividing(a, b, sizeCeilDiv, (x, y) => Math.ceil(x / divisorOf(y)));
  }
}

/** `p * a + q * b + r`, the form of nearly all shape arithmetic. */
export function randomAffine(
  random: RandomSource,
  symbols: readonly Size[],
  depth: number,
): RandomSize {
  const a = randomSize(random, symbols, depth);
  const b = randomSize(random, symbols, 0);
  const [p, q, r] = [random.integer(-6, 6), random.integer(-3, 3), random.integer(-9, 9)];
  return {
    size: sizeAdd(sizeAdd(sizeMul(a.size, p), sizeMul(b.size, q)), r),
    compute: (v) => p * a.compute(v) + q * b.compute(v) + r,
  };
}

/** An affine expression divided by a constant, or its remainder: where most rules apply. */
function affineDivision(random: RandomSource, symbols: readonly Size[], depth: number): RandomSize {
  const numerator = randomAffine(random, symbols, depth);
  const divisor = random.pick([2, 3, 4, 6, 12, -2, -3]);
  const by = { size: divisor, compute: () => divisor };
  return random.integer(0, 1) === 0
    ? dividing(numerator, by, sizeFloorDiv, floorDiv)
    : dividing(numerator, by, sizeMod, (x, y) => x - y * floorDiv(x, y));
}

/** A division, with another divisor where the one at hand is zero for the hints. */
function dividing(
  a: RandomSize,
  b: RandomSize,
  build: (x: Size, y: Size) => Size,
  compute: (x: number, y: number) => number,
): RandomSize {
  const divisor =
    (typeof b.size === 'number' ? b.size : b.size.hint) === 0 ? { size: 3, compute: () => 3 } : b;
  return {
    size: build(a.size, divisor.size),
    compute: (v) => compute(a.compute(v), divisor.compute(v)),
  };
}
