/**
 * @file Remainders: what the divisions of a step leave, by which what it makes of sizes is a polynomial again.
 *
 * `floor(n / 2)` is `(n - r) / 2`. Divisions are those of the integers that a step is given, which were found by fitting,
 * and those of its operator (slices with steps, windows that move by more than one).
 */
import { numbersOfCall, remaindersOfCall } from '@tessera/graph';
import type { Frame } from '../frame/frame.js';
import { integersOf } from '../trace/pattern.js';
import type { Step } from '../trace/step.js';

/** What an operator is called with; null for steps of other kinds. */
export type Arguments = readonly unknown[] | null;

const NONE: readonly number[] = [];

/**
 * Remainders as sizes: numbers and values in turns, as symbols are given. They are counted from 2 because smaller sizes
 * are cases of their own.
 */
export function remaindersOf(step: Step, args: Arguments, frame: Frame): readonly number[] {
  if (step.kind !== 'op') return NONE;
  const { divides, left } = step.rule;
  if (!divides && left.length === 0) return NONE;
  const values = left.map((remainder) => remainder(frame.symbols));
  if (divides) values.push(...remaindersOfCall(step.op, args!));
  return values.flatMap((value) => [-1, 2 + value]);
}

/** What the results of a step of dense tensors are sums and products of, whatever was divided before it; null for steps whose integers have remainders. */
export function ownNumbers(step: Step, args: Arguments, frame: Frame): readonly number[] | null {
  if (step.kind !== 'op' || step.rule.left.length > 0) return null;
  const operands = step.rule.slots.map((slot) => frame.slots[slot]!);
  const numbers = operands.flatMap(({ sizes }) => sizes);
  numbers.push(...operands.map(({ storageOffset }) => storageOffset));
  for (const arg of step.args)
    if (arg.code > 2) numbers.push(...integersOf(arg).map((int) => int.evaluate(frame.symbols)));
  return step.rule.divides ? numbersOfCall(step.op, args!, numbers) : numbers;
}

/** Whether a step has remainders. */
export function mayLeave(step: Step): boolean {
  if (step.kind !== 'op') return false;
  const { divides, left } = step.rule;
  return divides || left.length > 0;
}
