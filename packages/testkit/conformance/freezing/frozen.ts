/**
 * @file The configuration of the freezing rows.
 */
import { config } from '@tessera/compile';

/** Runs `fn` with freezing on and parameters discarded, as the document's test class does. */
export function frozen<R>(more: Readonly<Record<string, unknown>>, fn: () => R): R {
  return config.patch({ freezing: true, freezingDiscardParameters: true, ...more }, fn);
}
