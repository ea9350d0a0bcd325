/**
 * @file The error of what a skipped call, or an exported graph, would not do.
 */
import { TesseraError } from '@tessera/shared';

/** `pure-side-effect` with what to do instead. */
export function sideEffect(message: string, hints: string[], location?: string): TesseraError {
  return new TesseraError('pure-side-effect', message, { location, hints });
}
