/**
 * @file Checks of what arrays, Maps and Sets hold that needs no path of its own: primitives, in order.
 */
import { isPrimitive } from './is-primitive.js';

/** `Object.is`, quick where values are equal numbers. */
function same(a: unknown, b: unknown): boolean {
  return a === b ? a !== 0 || Object.is(a, b) : a !== a && b !== b;
}

/** Index of the first element of an array that is not what `before` says, or -1. */
export function changedElement(now: readonly unknown[], before: readonly unknown[]): number {
  for (let i = 0; i < before.length; i++) if (!same(now[i], before[i])) return i;
  return now.length === before.length ? -1 : before.length;
}

/** Stands for an element that is followed: its place counts, not which one it is. */
const FOLLOWED: unique symbol = Symbol('followed');

/** Keys of a Map or elements of a Set, as they are compared: primitives themselves. */
export function itemsToCompare(
  object: ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>,
): readonly unknown[] {
  return Array.from(object.keys(), (item) => (isPrimitive(item) ? item : FOLLOWED));
}

/** Index of the first key of a Map or element of a Set that differs, or -1. */
export function changedItem(
  now: ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>,
  before: readonly unknown[],
): number {
  let i = 0;
  for (const item of now.keys()) {
    const expected = before[i];
    if (expected === FOLLOWED ? isPrimitive(item) : !same(item, expected)) return i;
    i++;
  }
  return i === before.length ? -1 : i;
}
