/**
 * @file Argument patterns: what a replayed op's arguments must be.
 *
 * A pattern matches one argument and, for inputs seen for the first time and lifted scalars, binds it
 * in the frame. Matching allocates nothing.
 */
import { type SymScalar, isPlainInteger } from '@tessera/shared';
import { type Tensor, isTensor } from '@tessera/tensor';
import type { Frame } from '../frame/frame.js';
import type { TensorGuard } from '../guards/tensor-guard.js';
import { type SymPattern, matchSymbol } from './int-pattern.js';

/** See the members. `code` selects, for speed. */
export type Pattern =
  SlotPattern | ExternalPattern | ConstPattern | ListPattern | ScalarPattern | SymPattern;

/** A value of this segment: the same object. */
export interface SlotPattern {
  readonly code: 0;
  readonly slot: number;
}

/** A tensor from before the segment, seen for the first time; any tensor that passes the guard. */
export interface ExternalPattern {
  readonly code: 1;
  readonly slot: number;
  readonly guard: TensorGuard;
  /** Whether what was recorded before gives it gradients: it is a view of what was written. */
  readonly gains: boolean;
}

/** See the members. */
export type TensorPattern = SlotPattern | ExternalPattern;

/** The same number, string, boolean, null, or list of those. */
export interface ConstPattern {
  readonly code: 2;
  readonly value: unknown;
}

/** A list that holds tensors or symbolic integers. */
export interface ListPattern {
  readonly code: 3;
  readonly items: readonly Pattern[];
}

/** Any number of a kind: it becomes run-time scalar `index`. */
export interface ScalarPattern {
  readonly code: 4;
  readonly index: number;
  /** A `fraction` is a float that is no whole number; `float` takes both, where that makes no difference. */
  readonly kind: 'float' | 'fraction' | 'int' | 'bool';
  /** What operators ask of it: see `SymScalar`. */
  readonly checks?: SymScalar['checks'];
}

/** Whether `arg` fits; binds it if the pattern says so. */
export function matchPattern(pattern: Pattern, arg: unknown, frame: Frame): boolean {
  switch (pattern.code) {
    case 0:
      return frame.slots[pattern.slot] === arg && arg !== undefined;
    case 1:
      return (
        (passedBefore(pattern.guard, arg) || (isTensor(arg) && pattern.guard.check(arg, frame))) &&
        frame.take(pattern.slot, arg, pattern.gains)
      );
    case 2:
      return sameConstant(pattern.value, arg);
    case 3:
      return matchList(pattern.items, arg, frame);
    case 4:
      if (!isOfScalar(pattern, arg)) return false;
      frame.scalars[pattern.index] = Number(arg);
      return true;
    case 5:
      return matchSymbol(pattern, arg, frame);
  }
}

/** Whether a value is a tensor that carries a guard because it passed it, and is as it was then. */
export function passedBefore(guard: TensorGuard, value: unknown): value is Tensor {
  const tensor = value as Tensor | null | undefined;
  return tensor?.guardSpec === guard && tensor.requiresGradFlag === guard.requiresGrad;
}

/** What kind of run-time scalar a number is by itself. */
export function kindOfNumber(value: number): 'fraction' | 'int' {
  return Number.isSafeInteger(value) ? 'int' : 'fraction';
}

/** Whether a value may be that of a run-time scalar. */
export function isOfScalar({ kind, checks }: ScalarPattern, value: unknown): boolean {
  if (!isOfKind(kind, value)) return false;
  if (checks !== undefined) for (const check of checks) if (!check(Number(value))) return false;
  return true;
}

/** Whether a value is of a kind; the sign of a zero is lost in an `int`. */
export function isOfKind(kind: ScalarPattern['kind'], value: unknown): boolean {
  if (typeof value === 'boolean') return kind === 'bool';
  if (typeof value !== 'number') return false;
  if (kind === 'float' || kind === 'bool') return true;
  return kind === 'int' ? isPlainInteger(value) : kindOfNumber(value) === kind;
}

function matchList(items: readonly Pattern[], arg: unknown, frame: Frame): boolean {
  if (!Array.isArray(arg) || arg.length !== items.length) return false;
  for (let i = 0; i < items.length; i++) {
    if (!matchPattern(items[i]!, arg[i], frame)) {
      unbindPatterns(items, i, frame);
      return false;
    }
  }
  return true;
}

/**
 * Matches all arguments; binds nothing if one does not fit. The common patterns are compared here, without a call:
 * in the first calls of a function the engine interprets this code.
 */
export function matchAll(
  patterns: readonly Pattern[],
  args: readonly unknown[],
  frame: Frame,
): boolean {
  if (patterns.length !== args.length) return false;
  const { shapes, slots } = frame;
  for (let i = 0; i < patterns.length; i++) {
    const pattern = patterns[i]!;
    const arg = args[i];
    const { code } = pattern;
    if (code === 2) {
      const { value } = pattern;
      if (value === arg ? value !== 0 || Object.is(value, arg) : sameConstant(value, arg)) continue;
    } else if (code === 0) {
      if (slots[pattern.slot] === arg && arg !== undefined) continue;
    } else if (matchPattern(pattern, arg, frame)) continue;
    unbindPatterns(patterns, i, frame);
    if (frame.shapes !== shapes) frame.unbindSymbols(shapes);
    return false;
  }
  return true;
}

/** Takes back what the first `count` patterns bound. */
export function unbindPatterns(patterns: readonly Pattern[], count: number, frame: Frame): void {
  for (let i = 0; i < count; i++) {
    const pattern = patterns[i]!;
    if (pattern.code === 1) {
      frame.unbind(pattern.slot);
    } else if (pattern.code === 3) {
      unbindPatterns(pattern.items, pattern.items.length, frame);
    }
  }
}

/** Structural equality of constants; lists compare element by element. */
export function sameConstant(a: unknown, b: unknown): boolean {
  if (!Array.isArray(a) || !Array.isArray(b)) return Object.is(a, b);
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++)
    if ((a[i] !== b[i] || a[i] === 0) && !sameConstant(a[i], b[i])) return false;
  return true;
}

/** Slots of the tensors in a pattern. */
export function slotsOf(pattern: Pattern): number[] {
  if (pattern.code === 0 || pattern.code === 1) return [pattern.slot];
  return pattern.code === 3 ? pattern.items.flatMap(slotsOf) : [];
}

/** The argument that a pattern stands for in a frame. */
export function instantiate(pattern: Pattern, frame: Frame): unknown {
  switch (pattern.code) {
    case 0:
    case 1:
      return frame.slots[pattern.slot];
    case 2:
      return pattern.value;
    case 3:
      return pattern.items.map((item) => instantiate(item, frame));
    case 4:
      return frame.scalars[pattern.index];
    case 5:
      return pattern.evaluate(frame.symbols);
  }
}

/** The integers of a pattern that vary. */
export function integersOf(pattern: Pattern): readonly SymPattern[] {
  switch (pattern.code) {
    case 1:
      return [...pattern.guard.sizes, ...pattern.guard.strides].filter(
        (int) => typeof int !== 'number',
      );
    case 3:
      return pattern.items.flatMap(integersOf);
    case 5:
      return [pattern];
    default:
      return [];
  }
}
