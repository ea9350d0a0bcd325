/**
 * @file Remainders: what the divisions of a step leave, by which what it makes of sizes is a polynomial again.
 *
 * `floor(n / 2)` is `(n - r) / 2`. Divisions are those of the integers that a step is given, which were found by fitting,
 * and those of its operator (slices with steps, windows that move by more than one).
 */
import { dividesSizes, remaindersOfCall } from '@tessera/graph';
import { type SizeFunction, isDetermined } from '@tessera/shared';
import type { Frame } from '../frame/frame.js';
import { type Pattern, instantiate, integersOf } from '../trace/pattern.js';
import type { OpStep, Step } from '../trace/step.js';

const NONE: readonly number[] = [];

/** What an operator's step computes with sizes: found once, it is asked for at every new size. */
interface Arithmetic {
  /** Whether its integers are polynomials of the sizes and of remainders. */
  readonly isFollowed: boolean;
  /** What the divisions in its integers leave. */
  readonly left: readonly SizeFunction[];
  /** Whether its operator divides. */
  readonly divides: boolean;
}

const known = new WeakMap<OpStep, Arithmetic>();

function arithmeticOf(step: OpStep): Arithmetic {
  let found = known.get(step);
  if (found === undefined) {
    const { op, args } = step;
    const isFollowed = args.every(isFollowedPattern);
    const left = args.flatMap(integersOf).flatMap(({ remainders }) => remainders);
    known.set(step, (found = { isFollowed, left, divides: dividesSizes(op) }));
  }
  return found;
}

/**
 * Remainders as sizes: numbers and values in turns, as symbols are given. They are counted from 2 because smaller sizes
 * are cases of their own.
 */
export function remaindersOf(step: Step, frame: Frame): readonly number[] {
  if (step.kind !== 'op' || !mayLeave(step)) return NONE;
  const { left, divides } = arithmeticOf(step);
  const values = left.map((remainder) => remainder(frame.symbols));
  if (divides) {
    const args = step.args.map((arg) => instantiate(arg, frame));
    values.push(...remaindersOfCall(step.op, args));
  }
  return values.flatMap((value) => [-1, 2 + value]);
}

/** Whether a step has remainders. */
export function mayLeave(step: Step): boolean {
  if (step.kind !== 'op') return false;
  const { left, divides } = arithmeticOf(step);
  return divides || left.length > 0;
}

/** Whether the integers of a step are polynomials of the sizes and of remainders. */
export function isFollowed(step: OpStep): boolean {
  return arithmeticOf(step).isFollowed;
}

/** Whether the integers of an argument are polynomials of the sizes alone. */
export function isWhole(pattern: Pattern): boolean {
  return (
    isFollowedPattern(pattern) &&
    integersOf(pattern).every(({ remainders }) => remainders.length === 0)
  );
}

function isFollowedPattern(pattern: Pattern): boolean {
  return integersOf(pattern).every(({ expression }) => isDetermined(expression));
}
