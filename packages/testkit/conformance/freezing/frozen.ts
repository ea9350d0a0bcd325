/**
 * @file The configuration of the freezing rows.
 */
import { config } from '@tessera/compile';

/**
 * Runs `fn` as the document's test class does: with freezing on and parameters discarded, and without reference
 * kernels for operators that have no lowering.
 */
export function frozen<R>(more: Readonly<Record<string, unknown>>, fn: () => R): R {
  const options = {
    freezing: true,
    freezingDiscardParameters: true,
    'inductor.implicitFallbacks': false,
  };
  return config.patch({ ...options, ...more }, fn);
}
