/**
 * @file Properties that are others for a while: how a `pure` capture notices what no guard sees.
 */

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
