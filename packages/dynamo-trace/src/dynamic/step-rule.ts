/**
 * @file `StepRule`: what is asked of an operator's step at every new size, found once.
 */
import { type CaseOf, casesOf, dividesSizes, isUniform } from '@tessera/graph';
import { type SizeFunction, isDetermined } from '@tessera/shared';
import type { OpOverload } from '@tessera/tensor';
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
  /** Whether its operator divides. */
  readonly divides: boolean;
  /** Slots of the tensors that it reads. */
  readonly slots: readonly number[];
}

/** What there is to know of a step with such arguments. */
export function ruleOf(op: OpOverload, args: readonly Pattern[]): StepRule {
  return {
    isFollowed: isUniform(op) && args.every(isFollowed),
    caseOf: casesOf(op),
    left: args.flatMap(integersOf).flatMap(({ remainders }) => remainders),
    divides: dividesSizes(op, (position) => isOne(args[position])),
    slots: args.flatMap(slotsOf),
  };
}

/** Whether a step is in one case or another, depending on sizes. */
export function mayDiffer(step: Step): boolean {
  return step.kind === 'op' && step.rule.caseOf !== null;
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

function isFollowed(pattern: Pattern): boolean {
  return integersOf(pattern).every(({ expression }) => isDetermined(expression));
}
