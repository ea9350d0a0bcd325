/**
 * @file The error of a file or address that cannot be read.
 */
import { TesseraError, isTesseraError } from '@tessera/shared';

/**
 * Throws that `name` cannot be read: `why` in words, or the error that says so.
 *
 * @throws source-unreadable
 */
export function unreadable(
  name: string,
  why: unknown,
  context: Readonly<Record<string, unknown>> = {},
  hint = 'Check the address or path.',
): never {
  if (isTesseraError(why)) throw why;
  const reason = why instanceof Error ? why.message : String(why);
  throw new TesseraError('source-unreadable', `Could not read ${name}: ${reason}.`, {
    context: { source: name, ...context },
    hints: [hint],
    ...(why instanceof Error && { cause: why }),
  });
}
