/**
 * @file `ruleOf`: what is asked of an operator's step at every new size, found once.
 */
import { dividesSizes, hasCases, isUniform } from '@tessera/graph';
import { type SizeFunction, isDetermined } from '@tessera/shared';
import { type Pattern, integersOf, slotsOf } from '../trace/pattern.js';
import type { OpStep, Step } from '../trace/step.js';

/** See the file header. */
export interface StepRule {
  /** Whether its operator does the same at all sizes, and its integers are polynomials of the sizes and of remainders. */
  readonly isFollowed: boolean;
  readonly hasCases: boolean;
  /** What the divisions in its integers leave. */
  readonly left: readonly SizeFunction[];
  /** Whether its operator divides. */
  readonly divides: boolean;
  /** Slots of the tensors that it reads. */
  readonly slots: readonly number[];
}

const known = new WeakMap<OpStep, StepRule>();

/** See the file header. */
export function ruleOf(step: OpStep): StepRule {
  let rule = known.get(step);
  if (rule === undefined) {
    const { op, args } = step;
    rule = {
      isFollowed: isUniform(op) && args.every(isFollowed),
      hasCases: hasCases(op),
      left: args.flatMap(integersOf).flatMap(({ remainders }) => remainders),
      divides: dividesSizes(op),
      slots: args.flatMap(slotsOf),
    };
    known.set(step, rule);
  }
  return rule;
}

/** Whether a step is in one case or another, depending on sizes. */
export function mayDiffer(step: Step): boolean {
  return step.kind === 'op' && ruleOf(step).hasCases;
}

/** Whether the integers of an argument are polynomials of the sizes alone. */
export function isWhole(pattern: Pattern): boolean {
  return (
    isFollowed(pattern) && integersOf(pattern).every(({ remainders }) => remainders.length === 0)
  );
}

function isFollowed(pattern: Pattern): boolean {
  return integersOf(pattern).every(({ expression }) => isDetermined(expression));
}
