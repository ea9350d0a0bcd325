/**
 * @file Properties that are others for a while: how a `pure` capture notices what no guard sees.
 *
 * A skipped call does not run its JavaScript, so a clock, a random number or console output in it would silently stop
 * happening. During capture these are replaced by errors. Reads of hidden state are caught in hidden-state.ts.
 */
import type { TesseraError } from '@tessera/shared';
import { sideEffect } from './side-effect.js';

/** A property of an object and what it is replaced by. */
export interface Trap {
  readonly object: object;
  readonly key: PropertyKey;
  readonly property: PropertyDescriptor;
}

/** Runs `fn` with the properties replaced. */
export function withTraps<R>(traps: readonly Trap[], fn: () => R): R {
  const undo: (() => void)[] = [];
  try {
    for (const { object, key, property } of traps) {
      const original = Object.getOwnPropertyDescriptor(object, key);
      Object.defineProperty(object, key, property);
      undo.push(() =>
        original === undefined
          ? Reflect.deleteProperty(object, key)
          : Object.defineProperty(object, key, original),
      );
    }
    return fn();
  } finally {
    for (const restore of undo) restore();
  }
}

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
      const original: (...args: unknown[]) => unknown = Reflect.get(object, key);
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
