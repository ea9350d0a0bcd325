/**
 * @file Catching untracked effects while a `pure` function is captured.
 *
 * A skipped call does not run its JavaScript, so a clock, a random number or console output in it
 * would silently stop happening. During capture these are replaced by errors.
 */
import type { TesseraError } from '@tessera/shared';
import { sideEffect } from './side-effect.js';
import { type Trap, withTraps } from './traps.js';

/** Functions with effects, by the object that has them. */
const EFFECTS: readonly (readonly [name: string, object: object, keys: readonly string[]])[] = [
  ['Math', Math, ['random']],
  ['Date', Date, ['now']],
  ['performance', performance, ['now']],
  ['console', console, ['log', 'info', 'warn', 'error', 'debug']],
];

/** Whether code of the tracer runs, which may warn. */
let isOpen = false;

/** Runs code that is no part of the function. */
export function outsideTraps<R>(fn: () => R): R {
  const before = isOpen;
  isOpen = true;
  try {
    return fn();
  } finally {
    isOpen = before;
  }
}

/** Runs `fn` with the traps set. @throws pure-side-effect */
export function withEffectTraps<R>(name: string, fn: () => R): R {
  const traps = EFFECTS.flatMap(([of, object, keys]) =>
    keys.map((key): Trap => {
      const original = Reflect.get(object, key) as (...args: unknown[]) => unknown;
      const value = (...args: unknown[]): unknown => {
        if (isOpen) return Reflect.apply(original, object, args);
        throw effect(name, `${of}.${key}()`);
      };
      return { object, key, property: { configurable: true, writable: true, value } };
    }),
  );
  return withTraps(traps, fn);
}

function effect(name: string, what: string): TesseraError {
  return sideEffect(
    `${name} is compiled with pure: true but calls ${what}, which a skipped call would not do.`,
    ['Pass the value as an argument, or compile without pure: replay runs it on every call.'],
  );
}
