/**
 * @file `Alignment`: the older path that a recording runs along, to find which numbers vary.
 *
 * When a replay fails only because a number changed, the new path is recorded with that number as a
 * runtime scalar or a symbol, and every later number that differs from the older path is lifted too, so
 * a function with several changing numbers is compiled once more, not once per number (anti-unification).
 */
import { isBesideFloats } from '@tessera/graph';
import { SymScalar, isPlainInteger } from '@tessera/shared';
import { type OpOverload, isTensor } from '@tessera/tensor';
import type { Older } from '../dynamic/dynamic-shapes.js';
import type { TraceOptions } from '../trace-options.js';
import { type Pattern, type ScalarPattern, kindOfNumber, sameConstant } from '../trace/pattern.js';
import type { OpStep, RegionStep, Step, TrieNode } from '../trace/step.js';

/** How the arguments of an op differ from the older path: which numbers to lift, by position. */
export interface Aligned {
  readonly step: OpStep;
  readonly lifts: ReadonlyMap<number, Lift>;
}

/** A runtime scalar of a kind, or an integer that becomes a symbol. */
export type Lift = ScalarPattern['kind'] | 'symbol';

/** See the file header. */
export class Alignment {
  private matched: OpStep | null = null;

  constructor(
    private at: TrieNode | null,
    private readonly dynamic: TraceOptions['dynamic'] = undefined,
  ) {}

  /** The step of the older path that a new op corresponds to; null if there is none. */
  align(op: OpOverload, args: readonly unknown[]): Aligned | null {
    this.matched = null;
    for (const step of this.at?.steps ?? []) {
      if (step.kind !== 'op' || step.op !== op) continue;
      const lifts = varyingNumbers(step, args, this.dynamic);
      if (lifts === null) continue;
      this.matched = step;
      return { step, lifts };
    }
    return null;
  }

  /** Moves along after the op was recorded. */
  advance(): void {
    this.at = this.matched?.next ?? null;
  }

  /** Moves into a region; returns it. */
  enter(fits: (step: RegionStep) => boolean): RegionStep | null {
    const isWanted = (step: Step): step is RegionStep => step.kind === 'region' && fits(step);
    const step = this.at?.steps.find(isWanted) ?? null;
    this.at = step?.next ?? null;
    return step;
  }
}

/** Positions of numbers that vary between a step and new arguments; null if they differ otherwise. */
function varyingNumbers(
  step: OpStep,
  args: readonly unknown[],
  dynamic: TraceOptions['dynamic'],
): Map<number, Lift> | null {
  if (step.args.length !== args.length) return null;
  const lifts = new Map<number, Lift>();
  for (let i = 0; i < args.length; i++) {
    const pattern = step.args[i]!;
    const arg = args[i];
    if (pattern.code === 4) {
      if (arg instanceof SymScalar) continue;
      const kind = typeof arg === 'number' ? scalarKind(pattern.kind, arg, args) : null;
      if (kind === null) return null;
      lifts.set(i, kind);
    } else if (pattern.code === 5) {
      if (!Number.isInteger(arg)) return null;
      lifts.set(i, 'symbol');
    } else if (pattern.code === 2) {
      if (sameConstant(pattern.value, arg)) continue;
      const isSizes = isIntList(pattern.value) && isIntList(arg) && !takesNumbers(step.op, i);
      if (dynamic !== false && isSizes) {
        if (!isAsLong(pattern.value, arg)) return null;
        continue;
      }
      const kind = liftKind(step, i, pattern, arg, args, dynamic);
      if (kind === null) return null;
      lifts.set(i, kind);
    } else if (pattern.code === 3) {
      if (!Array.isArray(arg) || arg.length !== pattern.items.length) return null;
      if (takesNumbers(step.op, i)) lifts.set(i, 'float');
    } else if (!isTensor(arg)) {
      return null;
    }
  }
  return lifts;
}

function isIntList(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((item) => Number.isInteger(item));
}

/** Whether an argument is the numbers that a custom function computes with beside floats; other lists shape results. */
function takesNumbers(op: OpOverload, i: number): boolean {
  return op.qualifiedName === 'tessera::attach_function' && op.schema.args[i]!.name === 'numbers';
}

function isAsLong(known: unknown, arg: unknown): boolean {
  return Array.isArray(known) && Array.isArray(arg) && known.length === arg.length;
}

/** What a changed number becomes: a runtime scalar only where it does not shape the result. */
function liftKind(
  step: OpStep,
  i: number,
  pattern: Extract<Pattern, { code: 2 }>,
  arg: unknown,
  args: readonly unknown[],
  dynamic: TraceOptions['dynamic'],
): Lift | null {
  const { type } = step.op.schema.args[i]!;
  if (takesNumbers(step.op, i)) return isAsLong(pattern.value, arg) ? 'float' : null;
  if (typeof arg !== 'number' || typeof pattern.value !== 'number' || type.list) return null;
  const integers = isPlainInteger(arg) && isPlainInteger(pattern.value);
  if (type.base === 'int') return integers && dynamic !== false ? 'symbol' : null;
  if (type.base !== 'Scalar' && type.base !== 'Tensor') return null;
  return scalarKind(kindOfNumber(pattern.value), arg, args);
}

/**
 * The kind of run-time scalar that stands for numbers of a kind and one more; null if they need code of their own: a
 * whole and a fractional number promote integers, and tensors made of nothing else, differently.
 */
function scalarKind(
  kind: ScalarPattern['kind'],
  value: number,
  args: readonly unknown[],
): ScalarPattern['kind'] | null {
  const isKind = kindOfNumber(value) === kind && !Object.is(value, -0);
  // Beside floats a number of more than 32 bits is one: not all devices have longer integers.
  const isLong = kind === 'int' && Math.abs(value) >= 2 ** 31;
  if (isKind && !isLong) return kind;
  return isBesideFloats(args) ? 'float' : isKind ? kind : null;
}

/** Pattern of an argument on the older path. */
export function olderArgument(aligned: Aligned | null, i: number): Older<Pattern> | null {
  return aligned === null ? null : { pattern: aligned.step.args[i]!, calls: aligned.step.calls };
}
