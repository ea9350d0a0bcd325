/**
 * @file Catching untracked effects while a `pure` function is captured.
 *
 * A skipped call does not run its JavaScript, so a clock, a random number or console output in it
 * would silently stop happening. During capture these are replaced by errors.
 */
import { TesseraError } from '@tessera/shared';

interface Trap {
  readonly object: Record<string, unknown>;
  readonly key: string;
  readonly what: string;
}

function traps(): Trap[] {
  const list: Trap[] = [
    { object: Math as unknown as Record<string, unknown>, key: 'random', what: 'Math.random()' },
    { object: Date as unknown as Record<string, unknown>, key: 'now', what: 'Date.now()' },
    {
      object: performance as unknown as Record<string, unknown>,
      key: 'now',
      what: 'performance.now()',
    },
  ];
  for (const key of ['log', 'info', 'warn', 'error', 'debug']) {
    list.push({
      object: console as unknown as Record<string, unknown>,
      key,
      what: `console.${key}()`,
    });
  }
  return list;
}

/** Runs `fn` with the traps set. @throws pure-side-effect */
export function withEffectTraps<R>(name: string, fn: () => R): R {
  const set = traps().map((trap) => ({
    ...trap,
    original: Object.getOwnPropertyDescriptor(trap.object, trap.key),
  }));
  for (const { object, key, what } of set) {
    Object.defineProperty(object, key, {
      configurable: true,
      writable: true,
      value: () => {
        throw new TesseraError(
          'pure-side-effect',
          `${name} is compiled with pure: true but calls ${what}, which a skipped call would not do.`,
          {
            hints: [
              'Pass the value as an argument, or compile without pure: replay runs it on every call.',
            ],
          },
        );
      },
    });
  }
  try {
    return fn();
  } finally {
    for (const { object, key, original } of set) {
      if (original === undefined) delete object[key];
      else Object.defineProperty(object, key, original);
    }
  }
}
