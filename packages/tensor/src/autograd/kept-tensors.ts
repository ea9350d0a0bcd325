/**
 * @file Whether code keeps what it makes: in an array, a Map or a Set of the program, or on an object.
 *
 * The `backward` of a custom `Function` is tried out on FakeTensors before it is recorded
 * (traced-function.ts). One that pushes a gradient to an array of the program must run at every backward, and
 * what the trials left there must go. A container of the code itself is another one in every trial; one that
 * two trials write to is not its own.
 */
import { madeTensors } from '../memory/made-tensors.js';
import { isTensor } from '../tensor-factory.js';

/** A write: to what, and how to take it back. */
interface Write {
  readonly container: object;
  undo(): void;
}

type Method = (this: never, ...args: unknown[]) => unknown;

/** Takes values out of an array. */
function removeFrom(array: unknown[], values: readonly unknown[]): void {
  const gone = new Set<unknown>(values.filter(isTensor));
  let at = 0;
  for (const item of array) if (!gone.has(item)) array[at++] = item;
  array.length = at;
}

function restoreEntry(map: Map<unknown, unknown>, key: unknown): () => void {
  const before = map.has(key) ? { value: map.get(key) } : null;
  return () => {
    if (before === null) map.delete(key);
    else map.set(key, before.value);
  };
}

/** Methods that put values into a container: how each call is taken back. */
const PUTS: readonly {
  readonly prototype: object;
  readonly name: string;
  undo(container: never, args: readonly unknown[]): () => void;
}[] = [
  ...['push', 'unshift', 'splice'].map((name) => ({
    prototype: Array.prototype,
    name,
    undo: (array: unknown[], args: readonly unknown[]) => () => removeFrom(array, args),
  })),
  {
    prototype: Map.prototype,
    name: 'set',
    undo: (map: Map<unknown, unknown>, [key]: readonly unknown[]) => restoreEntry(map, key),
  },
  {
    prototype: Set.prototype,
    name: 'add',
    undo: (set: Set<unknown>, [value]: readonly unknown[]) => {
      return () => void set.delete(value);
    },
  },
];

/** Runs `fn` and notes the tensors that it puts into containers. */
function noteWrites<R>(fn: () => R, writes: Write[]): R {
  const originals = PUTS.map(({ prototype, name, undo }) => {
    const original = Object.getOwnPropertyDescriptor(prototype, name)!;
    const call: Method = original.value;
    Object.defineProperty(prototype, name, {
      ...original,
      value: function (this: object, ...args: unknown[]): unknown {
        // An open `tidy` scope notes every new tensor in a list of its own.
        if (this !== madeTensors.list && args.some(isTensor)) {
          const write = { container: this, undo: undo(this as never, args) };
          writes[writes.length] = write;
        }
        return call.apply(this as never, args);
      },
    });
    return () => Object.defineProperty(prototype, name, original);
  });
  try {
    return fn();
  } finally {
    for (const restore of originals) restore();
  }
}

/** Puts back what `object` held; whether something had changed. */
function restoreProperties(
  now: Partial<Record<string, unknown>>,
  before: Readonly<Record<string, unknown>>,
): boolean {
  let changed = false;
  for (const key of new Set([...Object.keys(before), ...Object.keys(now)])) {
    if (Object.is(before[key], now[key])) continue;
    changed = true;
    if (Object.hasOwn(before, key)) now[key] = before[key];
    else delete now[key];
  }
  return changed;
}

/**
 * Runs `trial` twice. It is steady if it gives the same both times, keeps no tensors in containers that are
 * not its own, and changes no property of `owner`; such containers and properties are then as before.
 */
export function tryTwice<R>(
  trial: () => R,
  owner: object,
): { readonly result: R; readonly isSteady: boolean } {
  const before = { ...owner };
  const writes: [Write[], Write[]] = [[], []];
  const first = noteWrites(trial, writes[0]);
  const second = noteWrites(trial, writes[1]);
  const own = new Set(writes[0].map(({ container }) => container));
  const shared = new Set(
    writes[1].map(({ container }) => container).filter((item) => own.has(item)),
  );
  for (const { container, undo } of writes.flat().reverse()) if (shared.has(container)) undo();
  const changed = restoreProperties(owner, before);
  return { result: first, isSteady: !changed && shared.size === 0 && first === second };
}
