/** @file Calls a function that must fail and gives its error. */
import { expect } from 'vitest';
import { TesseraError } from '../src/index.js';

/** The `TesseraError` that `fn` throws; fails the test when it throws nothing or another error. */
export function thrownBy(fn: () => unknown): TesseraError {
  let thrown: unknown;
  try {
    fn();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(TesseraError);
  return thrown as TesseraError;
}
