/**
 * @file Counts that sizes are made of, checked by name.
 */
import { TesseraError } from '@tessera/shared';

/** @throws invalid-argument for what is no whole number from 1 */
export function checkSizes(owner: string, sizes: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(sizes)) {
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1) continue;
    throw new TesseraError(
      'invalid-argument',
      `${owner}: ${name} is ${String(value)}, not a whole number from 1.`,
      { context: { option: name, value } },
    );
  }
}
