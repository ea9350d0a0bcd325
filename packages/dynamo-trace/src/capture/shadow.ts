/**
 * @file `Shadow`: an older path that a capture runs along, to find which numbers vary.
 *
 * When a replay fails only because a number changed, the new path is recorded with that number as a
 * runtime scalar, and every later number that differs from the older path is lifted too, so a function
 * with several changing numbers is compiled once more, not once per number (anti-unification).
 */
import { SymScalar } from '@tessera/shared';
import { type OpOverload, isFloatingPoint, isTensor } from '@tessera/tensor';
import { type Pattern, sameConstant } from '../trace/pattern.js';
import type { Branch, OpStep, Step } from '../trace/step.js';

/** Kinds of the arguments to lift, by position. */
export type Lifts = ReadonlyMap<number, 'float' | 'int'>;

/** See the file header. */
export class Shadow {
  private matched: OpStep | null = null;
  /** The step that the next pushed one subsumes. */
  replaces: Step | null = null;

  constructor(private branch: Branch | null) {}

  /** Which arguments of the next op to lift: those whose number differs from the older path's. */
  liftedArgs(op: OpOverload, args: readonly unknown[]): Lifts | null {
    this.matched = null;
    this.replaces = null;
    for (const step of this.branch?.steps ?? []) {
      if (step.kind !== 'op' || step.op !== op) continue;
      const lifts = varyingNumbers(step, args);
      if (lifts === null) continue;
      this.matched = step;
      return lifts;
    }
    return null;
  }

  /** Moves along after the op was recorded as `step`. */
  advance(step: OpStep): void {
    if (this.matched === null) {
      this.branch = null;
      return;
    }
    if (step.args.some((pattern) => pattern.code === 4)) this.replaces = this.matched;
    this.branch = this.matched.next;
  }
}

/** Positions of numbers that vary between a step and new arguments; null if they differ otherwise. */
export function varyingNumbers(
  step: OpStep,
  args: readonly unknown[],
): Map<number, 'float' | 'int'> | null {
  if (step.args.length !== args.length) return null;
  const lifts = new Map<number, 'float' | 'int'>();
  for (let i = 0; i < args.length; i++) {
    const pattern = step.args[i]!;
    const arg = args[i];
    if (pattern.code === 4) {
      if (typeof arg === 'number')
        lifts.set(i, pattern.kind === 'int' && Number.isInteger(arg) ? 'int' : 'float');
      else if (!(arg instanceof SymScalar)) return null;
    } else if (pattern.code === 2) {
      if (sameConstant(pattern.value, arg)) continue;
      const kind = liftKind(step, i, pattern, arg, args);
      if (kind === null) return null;
      lifts.set(i, kind);
    } else if (!isTensor(arg) && !Array.isArray(arg)) {
      return null;
    }
  }
  return lifts;
}

/** Whether a changed number may become a runtime scalar: only where it does not shape the result. */
function liftKind(
  step: OpStep,
  i: number,
  pattern: Extract<Pattern, { code: 2 }>,
  arg: unknown,
  args: readonly unknown[],
): 'float' | 'int' | null {
  if (typeof arg !== 'number' || typeof pattern.value !== 'number') return null;
  const formal = step.op.schema.args[i]!;
  const liftable = formal.type.base === 'Scalar' || formal.type.base === 'Tensor';
  if (!liftable || formal.type.list) return null;
  if (Number.isInteger(arg) && Number.isInteger(pattern.value)) return 'int';
  // A whole and a fractional number promote integer tensors differently.
  const allFloat = args.every((other) => !isTensor(other) || isFloatingPoint(other.dtype));
  return allFloat ? 'float' : null;
}
