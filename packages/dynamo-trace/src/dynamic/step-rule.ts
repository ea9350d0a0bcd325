/**
 * @file `StepRule`: what is asked of an operator's step at every new size, found once.
 *
 * What a step makes of sizes is a polynomial of them and of what its divisions leave: `floor(n / 2)` is `(n - r) / 2`.
 * Divisions are those of the integers that a step is given, which were found by fitting, and those of its operator
 * (slices with steps, windows that move by more than one).
 */
import {
  type CaseOf,
  casesOf,
  dividesSizes,
  isUniform,
  numbersOfCall,
  remaindersOfCall,
} from '@tessera/graph';
import { type SizeFunction, isDetermined } from '@tessera/shared';
import type { OpOverload } from '@tessera/tensor';
import type { Frame } from '../frame/frame.js';
import { type Pattern, integersOf, slotsOf } from '../trace/pattern.js';
import type { Step } from '../trace/step.js';

/** See the file header. */
export interface StepRule {
  /** Whether its operator does the same at all sizes, and its integers are polynomials of the sizes and of remainders. */
  readonly isFollowed: boolean;
  /** What tells the cases of its operator; null where there is one. */
  readonly caseOf: CaseOf | null;
  /** What the divisions in its integers leave. */
  readonly left: readonly SizeFunction[];
  /** Whether its operator divides, and whether that or its integers leave anything. */
  readonly divides: boolean;
  readonly leaves: boolean;
  /** Slots of the tensors that it reads. */
  readonly slots: readonly number[];
}

/** What there is to know of a step with such arguments. */
export function ruleOf(op: OpOverload, args: readonly Pattern[]): StepRule {
  const left = args.flatMap(integersOf).flatMap(({ remainders }) => remainders);
  const divides = dividesSizes(op, (position) => isOne(args[position]));
  return {
    isFollowed:
      isUniform(op) &&
      args.every((pattern, i) => isFollowed(pattern) && hasOnlySizes(op, i, pattern)),
    caseOf: casesOf(op),
    left,
    divides,
    leaves: divides || left.length > 0,
    slots: args.flatMap(slotsOf),
  };
}

/** What tells in which case a step is; null where there is one. */
export function caseOfStep(step: Step): CaseOf | null {
  return step.kind === 'op' ? step.rule.caseOf : null;
}

/** Whether the integers of an argument are polynomials of the sizes alone. */
export function isWhole(pattern: Pattern): boolean {
  return (
    isFollowed(pattern) && integersOf(pattern).every(({ remainders }) => remainders.length === 0)
  );
}

function isOne(pattern: Pattern | undefined): boolean {
  return pattern === undefined || (pattern.code === 2 && (pattern.value ?? 1) === 1);
}

/** Whether the integers of an argument, if it has any, are sizes: dimensions and offsets decide what an operator does. */
function hasOnlySizes(op: OpOverload, position: number, pattern: Pattern): boolean {
  const { name, type } = op.schema.args[position]!;
  // The steps of linspace are how long it is, though its schema does not say so.
  const isSize = type.symbolic || name === 'steps';
  return type.base !== 'int' || isSize || integersOf(pattern).length === 0;
}

function isFollowed(pattern: Pattern): boolean {
  return integersOf(pattern).every(({ expression }) => isDetermined(expression));
}

// ---- what divisions leave

/** What an operator is called with; null for steps of other kinds. */
export type Arguments = readonly unknown[] | null;

const NONE: readonly number[] = [];

/**
 * Remainders as sizes: numbers and values in turns, as symbols are given. They are counted from 2 because smaller sizes
 * are cases of their own.
 */
export function remaindersOf(step: Step, args: Arguments, frame: Frame): readonly number[] {
  if (step.kind !== 'op') return NONE;
  const { divides, left, leaves } = step.rule;
  if (!leaves) return NONE;
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
