/**
 * @file Argument patterns: what a replayed op's arguments must be.
 *
 * A pattern matches one argument and, for inputs seen for the first time and lifted scalars, binds it
 * in the run. Matching allocates nothing.
 */
import { isPlainInteger } from '@tessera/shared';
import { type Tensor, isTensor } from '@tessera/tensor';
import type { DynamicTensorGuard } from '../guards/dynamic-tensor-guard.js';
import type { TensorGuard } from '../guards/tensor-guard.js';
import { type SymPattern, type SymbolBindings, matchSymbol } from './int-pattern.js';

/** See the members. `code` selects, for speed. */
export type Pattern =
  SlotPattern | ExternalPattern | ConstPattern | ListPattern | ScalarPattern | SymPattern;

/** A value of this trace: the same object. */
export interface SlotPattern {
  readonly code: 0;
  readonly slot: number;
  /** What it must look like, at its first use behind a graph break: code in between may have changed its layout. */
  readonly guard: TensorGuard | DynamicTensorGuard | null;
}

/** A tensor from outside, seen for the first time; any tensor that passes the guard. */
export interface ExternalPattern {
  readonly code: 1;
  readonly slot: number;
  readonly guard: TensorGuard | DynamicTensorGuard;
}

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

/** Any number: it becomes runtime scalar `index`. */
export interface ScalarPattern {
  readonly code: 4;
  readonly index: number;
  readonly kind: 'float' | 'int' | 'bool';
}

/** What a pattern binds into: values of the current call. */
export interface Bindings extends SymbolBindings {
  /** Number of this call; tensors bound in it carry it as `traceOwner`. */
  readonly id: number;
  readonly slots: (Tensor | undefined)[];
  readonly scalars: number[];
}

/** Whether `arg` fits; binds it if the pattern says so. */
export function matchPattern(pattern: Pattern, arg: unknown, run: Bindings): boolean {
  switch (pattern.code) {
    case 0:
      return (
        run.slots[pattern.slot] === arg &&
        arg !== undefined &&
        (pattern.guard === null || pattern.guard.check(arg as Tensor, run))
      );
    case 1:
      if (!isTensor(arg) || arg.traceOwner === run.id || !pattern.guard.check(arg, run))
        return false;
      arg.traceOwner = run.id;
      arg.traceSlot = pattern.slot;
      run.slots[pattern.slot] = arg;
      return true;
    case 2:
      return sameConstant(pattern.value, arg);
    case 3:
      return matchList(pattern.items, arg, run);
    case 4:
      if (
        typeof arg === 'boolean'
          ? pattern.kind !== 'bool'
          : typeof arg !== 'number' || (pattern.kind === 'int' && !isPlainInteger(arg))
      )
        return false;
      run.scalars[pattern.index] = Number(arg);
      return true;
    case 5:
      return matchSymbol(pattern, arg, run);
  }
}

function matchList(items: readonly Pattern[], arg: unknown, run: Bindings): boolean {
  if (!Array.isArray(arg) || arg.length !== items.length) return false;
  for (let i = 0; i < items.length; i++) {
    if (!matchPattern(items[i]!, arg[i], run)) {
      unbindPatterns(items, i, run);
      return false;
    }
  }
  return true;
}

/** Matches all arguments; binds nothing if one does not fit. */
export function matchAll(
  patterns: readonly Pattern[],
  args: readonly unknown[],
  run: Bindings,
): boolean {
  if (patterns.length !== args.length) return false;
  const { tuple } = run;
  for (let i = 0; i < patterns.length; i++) {
    if (!matchPattern(patterns[i]!, args[i], run)) {
      unbindPatterns(patterns, i, run);
      if (run.tuple !== tuple) run.unbindSymbols(tuple);
      return false;
    }
  }
  return true;
}

/** Takes back what the first `count` patterns bound. */
export function unbindPatterns(patterns: readonly Pattern[], count: number, run: Bindings): void {
  for (let i = 0; i < count; i++) {
    const pattern = patterns[i]!;
    if (pattern.code === 1) {
      const tensor = run.slots[pattern.slot];
      if (tensor !== undefined) tensor.traceOwner = 0;
      run.slots[pattern.slot] = undefined;
    } else if (pattern.code === 3) {
      unbindPatterns(pattern.items, pattern.items.length, run);
    }
  }
}

/** Structural equality of constants; lists compare element by element. */
export function sameConstant(a: unknown, b: unknown): boolean {
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!sameConstant(a[i], b[i])) return false;
    return true;
  }
  return Object.is(a, b);
}

/** Slots of the tensors in a pattern. */
export function slotsOf(pattern: Pattern): number[] {
  if (pattern.code === 0 || pattern.code === 1) return [pattern.slot];
  return pattern.code === 3 ? pattern.items.flatMap(slotsOf) : [];
}

/** The argument that a pattern stands for in a run. */
export function instantiate(pattern: Pattern, run: Bindings): unknown {
  switch (pattern.code) {
    case 0:
    case 1:
      return run.slots[pattern.slot];
    case 2:
      return pattern.value;
    case 3:
      return pattern.items.map((item) => instantiate(item, run));
    case 4:
      return run.scalars[pattern.index];
    case 5:
      return pattern.evaluate(run.symbols);
  }
}

/** Notes what the integers of a matched pattern are in a captured call. */
export function observePattern(pattern: Pattern, call: number, run: Bindings): void {
  if (pattern.code === 5) pattern.values.set(call, pattern.evaluate(run.symbols));
  else if (pattern.code === 3) for (const item of pattern.items) observePattern(item, call, run);
  else if ((pattern.code === 0 || pattern.code === 1) && pattern.guard !== null) {
    for (const int of [...pattern.guard.sizes, ...pattern.guard.strides])
      if (typeof int !== 'number') int.values.set(call, int.evaluate(run.symbols));
  }
}
