/**
 * @file The error that misuse of a graph gives.
 */
import { TesseraError } from '@tessera/shared';

/** A `graph-lint` error with one hint. */
export function graphError(message: string, hint: string): TesseraError {
  return new TesseraError('graph-lint', message, { hints: [hint] });
}
