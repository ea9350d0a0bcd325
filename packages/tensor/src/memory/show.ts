/**
 * @file `show`: noting that the program was given a tensor, so that only it can say when the memory may go.
 */
import { isTensor } from '../tensor-factory.js';

/** The program gets these values; lists of them are looked through. */
export function show(value: unknown): void {
  if (Array.isArray(value)) value.forEach(show);
  else if (isTensor(value) && value.storageOrNull !== null) value.storageOrNull.shown = true;
}
