/**
 * @file How many input elements of a resizing there are to an output element, of sizes that may be symbolic.
 */
import { type Size, SymInt, sizeAdd, sizeHint, sizeMul } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import { ExprMath, type Term } from '../expr-math.js';
import type { Lowering } from '../lowering.js';
import type { LoweredArg } from '../registry.js';
import { fixed, isLarger } from '../shape-math.js';

/** Resizing along one dimension; see `Resize` of `@tessera/tensor`. */
export interface SizedResize {
  readonly input: Size;
  readonly output: Size;
  readonly alignCorners: boolean;
  readonly scale: number | null;
}

/** The factor that an argument gives, if it does. */
export function factorOf(arg: LoweredArg | undefined): number | null {
  return typeof arg === 'number' || arg instanceof SymInt ? fixed(arg) : null;
}

/** Input elements per output element: a number, or a quotient of sizes. */
export function ratioOf(
  l: Lowering,
  { input, output, alignCorners, scale }: SizedResize,
  dtype: DType,
): Term {
  if (scale !== null && scale > 0 && !alignCorners) return rounded(1 / scale, dtype);
  if (!alignCorners) return quotient(l, input, output, dtype);
  return isLarger(output, 1) ? quotient(l, sizeAdd(input, -1), sizeAdd(output, -1), dtype) : 0;
}

function quotient(l: Lowering, a: Size, b: Size, dtype: DType): Term {
  const times = wholeQuotient(a, b);
  if (times > 0) return times;
  const parts = wholeQuotient(b, a);
  if (parts > 0) return rounded(1 / parts, dtype);
  if (typeof a === 'number' && typeof b === 'number') return rounded(a / b, dtype);
  const m = new ExprMath(l.ir);
  return m.div(m.term(a, dtype), m.term(b, dtype));
}

function rounded(value: number, dtype: DType): number {
  return dtype === 'float64' ? value : Math.fround(value);
}

/** How many times `b` is in `a` at all sizes, if that is a whole number; else 0. */
export function wholeQuotient(a: Size, b: Size): number {
  const times = sizeHint(a) / sizeHint(b);
  return Number.isInteger(times) && a === sizeMul(b, times) ? times : 0;
}
