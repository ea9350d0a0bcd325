/**
 * @file Remainders: what the divisions of a step leave, by which what it makes of sizes is a polynomial again.
 *
 * `floor(n / 2)` is `(n - r) / 2`. Divisions are those of the integers that a step is given, which were found by fitting,
 * and those of its operator (slices with steps, windows that move by more than one).
 */
import { dividesSizes, remaindersOfCall } from '@tessera/graph';
import { isDetermined } from '@tessera/shared';
import type { Frame } from '../frame/frame.js';
import type { IntPattern, SymPattern } from '../trace/int-pattern.js';
import { type Pattern, instantiate } from '../trace/pattern.js';
import type { Step } from '../trace/step.js';

const NONE: readonly number[] = [];

/**
 * Remainders as sizes: numbers and values in turns, as symbols are given. They are counted from 2 because smaller sizes
 * are cases of their own.
 */
export function remaindersOf(step: Step, frame: Frame): readonly number[] {
  if (step.kind !== 'op' || !mayLeave(step)) return NONE;
  const { op, args } = step;
  const given = args.flatMap(integersOf).flatMap(({ remainders }) => remainders);
  const left = given.map((remainder) => remainder(frame.symbols));
  if (dividesSizes(op))
    left.push(
      ...remaindersOfCall(
        op,
        args.map((arg) => instantiate(arg, frame)),
      ),
    );
  return left.flatMap((value) => [-1, 2 + value]);
}

/** Whether a step has remainders. */
export function mayLeave(step: Step): boolean {
  if (step.kind !== 'op') return false;
  return dividesSizes(step.op) || step.args.some(isDivided);
}

/** Whether integers of an argument have remainders. */
export function isDivided(pattern: Pattern): boolean {
  return integersOf(pattern).some(({ remainders }) => remainders.length > 0);
}

/** Whether the integers of an argument are polynomials of the sizes and of remainders. */
export function isFollowed(pattern: Pattern): boolean {
  return integersOf(pattern).every(({ expression }) => isDetermined(expression));
}

/** The integers of an argument that vary. */
function integersOf(pattern: Pattern): readonly SymPattern[] {
  switch (pattern.code) {
    case 0:
    case 1:
      return pattern.guard === null
        ? []
        : [...pattern.guard.sizes, ...pattern.guard.strides].filter(varies);
    case 3:
      return pattern.items.flatMap(integersOf);
    case 5:
      return [pattern];
    default:
      return [];
  }
}

function varies(int: IntPattern): int is SymPattern {
  return typeof int !== 'number';
}
