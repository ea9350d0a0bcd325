/**
 * @file Small helpers for integer code: folded arithmetic, and flat indices to loop variables.
 */
import type { SizedLoop } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { i32, op } from '../emit/code.js';
import type { Code, Local, ResultType } from '../emit/types.js';
import type { WasmFunction } from '../emit/wasm-function.js';

/** Code of a size. */
export type ReadSize = (size: Size) => Code<'i32'>;

/** `a · size`. */
export function scaledBy(a: Code<'i32'>, factor: Size, read: ReadSize): Code<'i32'> {
  return typeof factor === 'number' ? scaled(a, factor) : op('i32.mul', a, read(factor));
}

/** a + constant. */
export function plus(a: Code<'i32'>, constant: number): Code<'i32'> {
  return constant === 0 ? a : op('i32.add', a, i32(constant));
}

/** a + size. */
export function plusSize(a: Code<'i32'>, size: Size, read: ReadSize): Code<'i32'> {
  return typeof size === 'number' ? plus(a, size) : op('i32.add', a, read(size));
}

/** a · constant; powers of two shift. */
export function scaled(a: Code<'i32'>, factor: number): Code<'i32'> {
  if (factor === 1) return a;
  if (factor === 0) return i32(0);
  const shift = Math.log2(factor);
  return Number.isInteger(shift) && shift > 0
    ? op('i32.shl', a, i32(shift))
    : op('i32.mul', a, i32(factor));
}

/** a + b. */
export function sum(a: Code<'i32'>, b: Code<'i32'>): Code<'i32'> {
  return op('i32.add', a, b);
}

/** Smaller of two unsigned values that locals or constants hold. */
export function minimum(
  f: WasmFunction<ResultType>,
  name: string,
  a: Code<'i32'>,
  b: Code<'i32'>,
): Local<'i32'> {
  const result = f.let(name, a);
  const other = f.let(`${name}_limit`, b);
  f.if(op('i32.lt_u', other, result), () => f.set(result, other));
  return result;
}

/** Adds a constant to a local. */
export function advance(f: WasmFunction<ResultType>, local: Local<'i32'>, by: number): void {
  f.set(local, plus(local, by));
}

/** Counts `count` down by `step` while at least `step` is left; the remainder stays in `count`. */
export function countDown(
  f: WasmFunction,
  count: Local<'i32'>,
  step: number,
  body: () => void,
): void {
  f.while(
    () => op('i32.ge_u', count, i32(step)),
    () => {
      body();
      f.set(count, op('i32.sub', count, i32(step)));
    },
  );
}

/** Splits the flat index `flat` into new locals, one per variable, by name. */
export function decodeIndex(
  f: WasmFunction,
  vars: readonly SizedLoop[],
  flat: Code<'i32'>,
  read: ReadSize,
): Map<string, Local<'i32'>> {
  const found = new Map<string, Local<'i32'>>();
  const rest = f.let('flat', flat);
  const outermost = vars.find((each) => each.size !== 1)?.name;
  for (const { name, size } of vars.toReversed()) {
    const local = f.local('i32', name);
    found.set(name, local);
    if (size === 1) continue;
    if (name === outermost) f.set(local, rest);
    else {
      f.set(local, op('i32.rem_u', rest, read(size)));
      f.set(rest, op('i32.div_u', rest, read(size)));
    }
  }
  return found;
}
