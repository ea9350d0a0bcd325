/**
 * @file What every kind of program has in common where it is compared with its eager run.
 */
import { reset } from '@tessera/compile';
import { isTold, nameOf } from './error-names.js';
import type { Seen } from './observe.js';
import { watchUnhandled } from './unhandled.js';

/** A backend whose run differs, and how. */
export interface Found {
  readonly backend: string;
  readonly text: string;
}

/** Compares one backend after the other: the first that differs, or leaves an error that nobody catches. */
export async function firstMismatch(
  backends: readonly string[],
  difference: (backend: string) => Promise<string | null>,
): Promise<Found | null> {
  for (const backend of backends) {
    try {
      const { result, unhandled } = await watchUnhandled(() => difference(backend));
      const text = result ?? (unhandled === null ? null : `nobody caught: ${nameOf(unhandled)}`);
      if (text !== null) return { backend, text };
    } finally {
      reset();
    }
  }
  return null;
}

/** How call `i` differs: what was thrown says more than what differs because of it. */
export function inWords(i: number, found: string, got: readonly Seen[]): string {
  const thrown = got.find((seen) => seen.kind === 'value' && isTold(String(seen.value)));
  return thrown?.kind === 'value' ? `call ${i}: ${String(thrown.value)}` : found;
}
