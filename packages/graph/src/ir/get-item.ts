/**
 * @file `getItem`: takes one value out of a node with several.
 */
import { TesseraError } from '@tessera/shared';

/** Element `index` of a list. @throws index-out-of-range */
export function getItem(list: readonly unknown[], index: number): unknown {
  if (!Array.isArray(list) || index < 0 || index >= list.length) {
    throw new TesseraError(
      'index-out-of-range',
      `getItem: index ${index} of ${Array.isArray(list) ? `a list of ${list.length}` : 'a value that is no list'}.`,
      { hints: ['An operator with several results gives a list of that many values.'] },
    );
  }
  return list[index];
}
