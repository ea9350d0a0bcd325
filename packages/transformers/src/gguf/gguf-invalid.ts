/**
 * @file The error for files that are no GGUF, or broken ones.
 */
import { TesseraError } from '@tessera/shared';

/** @throws gguf-invalid */
export function invalidGguf(what: string, context: Readonly<Record<string, unknown>> = {}): never {
  throw new TesseraError('gguf-invalid', `This is no GGUF file as it should be: ${what}.`, {
    context,
    hints: ['Download or convert the file again.'],
  });
}
