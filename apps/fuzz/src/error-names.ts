/**
 * @file Errors as something to compare.
 */
import { isTesseraError } from '@tessera/shared';
import { Stop } from './interpret.js';

/** The one error that programs of statements make on purpose. */
export const OUT_OF_RANGE = 'index-out-of-range';

/** Its code and what it says first, or, of an error that nobody means, where it comes from. */
export function nameOf(error: unknown): string {
  if (error instanceof Stop) return 'stop';
  // Eager code says which element, compiled code which kernel.
  if (isTesseraError(error) && error.code === OUT_OF_RANGE) return OUT_OF_RANGE;
  if (isTesseraError(error)) return `${error.code}: ${error.message.split('\n')[0]}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Errors that say of themselves that the next call is right: the program is then run again from its beginning. */
const TOLD: readonly string[] = ['trace-escape', 'trace-late-watch'];
/** How often a program may be told something before that counts as a difference. */
export const MOST_TOLD = 12;

/** Whether what was found is told as one of them. */
export function isTold(text: string): boolean {
  return TOLD.some((code) => text.includes(code) || text.includes(`docs/errors/${code}`));
}
