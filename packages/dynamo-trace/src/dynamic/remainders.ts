/**
 * @file Remainders: what the divisions of a step leave, by which what it makes of sizes is a polynomial again.
 *
 * `floor(n / 2)` is `(n - r) / 2`. Divisions are those of the integers that a step is given, which were found by fitting,
 * and those of its operator (slices with steps, windows that move by more than one).
 */
import { remaindersOfCall } from '@tessera/graph';
import type { Frame } from '../frame/frame.js';
import { instantiate } from '../trace/pattern.js';
import type { Step } from '../trace/step.js';
import { ruleOf } from './step-rule.js';

const NONE: readonly number[] = [];

/**
 * Remainders as sizes: numbers and values in turns, as symbols are given. They are counted from 2 because smaller sizes
 * are cases of their own.
 */
export function remaindersOf(step: Step, frame: Frame): readonly number[] {
  if (step.kind !== 'op') return NONE;
  const { divides, left } = ruleOf(step);
  if (!divides && left.length === 0) return NONE;
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
  const { divides, left } = ruleOf(step);
  return divides || left.length > 0;
}
