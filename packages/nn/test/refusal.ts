/**
 * @file What calls are refused with, and how tests make calls that types forbid.
 */
import { TesseraError } from '@tessera/shared';
import { expect } from 'vitest';
import { thrownBy } from './thrown-by.js';

/** Types forbid these calls. */
export const any = (value: unknown): never => value as never;

/** The whole text of the `TesseraError` of a call, hints included. */
export function refusalWithHints(call: () => unknown): string {
  const error = thrownBy(call);
  expect(error).toBeInstanceOf(TesseraError);
  return error.message;
}

/** What was wrong with a call: the first line. */
export function refusal(call: () => unknown): string {
  return refusalWithHints(call).split('\n')[0]!;
}
