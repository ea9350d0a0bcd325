/**
 * @file Patterns of integers: a number, or an expression of the symbols of the trace.
 */
import type { Size, SizeFunction } from '@tessera/shared';
import type { Frame } from '../frame/frame.js';

/** An integer that the symbols determine; where it is a symbol that has no value yet, it binds it. */
export interface SymPattern {
  readonly code: 5;
  readonly expression: Size;
  /** Number of the symbol that the expression is, or -1. */
  readonly bind: number;
  /** Bounds of that symbol. */
  readonly min: number;
  readonly max: number;
  evaluate(symbols: readonly (number | undefined)[]): number;
  /** What the divisions in it leave. */
  readonly remainders: readonly SizeFunction[];
  /** What it was in captured calls, by their number. */
  readonly values: Map<number, number>;
}

/** See the file header. */
export type IntPattern = number | SymPattern;

/** Whether an integer fits. */
export function matchInt(pattern: IntPattern, value: unknown, frame: Frame): boolean {
  return typeof pattern === 'number' ? pattern === value : matchSymbol(pattern, value, frame);
}

/** Whether a value is what the symbols say; binds a symbol that is new. */
export function matchSymbol(pattern: SymPattern, value: unknown, frame: Frame): boolean {
  const { bind } = pattern;
  if (bind < 0 || frame.symbols[bind] !== undefined)
    return pattern.evaluate(frame.symbols) === value;
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) return false;
  if (value < pattern.min || value > pattern.max) return false;
  frame.bindSymbol(bind, value);
  return true;
}

/** Printed form: `8`, `s0`, `4*s0`. */
export function printInt(pattern: IntPattern): string {
  return typeof pattern === 'number' ? String(pattern) : String(pattern.expression);
}
