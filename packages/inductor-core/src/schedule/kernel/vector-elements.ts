/**
 * @file The elements of a vector of a scheduled kernel, for `interpretScheduled`.
 */
import type { Size } from '@tessera/shared';
import type { IndexExpr } from '../../ir/index-expr.js';
import type { Lanes } from './scheduled-kernel.js';
import type { Element } from './thread-state.js';

/** Those that count: `index` and `count` say what indices and sizes are now. */
export function elementsOf(
  { lane, width, step, groups, across, valid }: Lanes,
  index: (index: IndexExpr, element: Element) => number,
  count: (size: Size) => number,
): Element[] {
  const found: Element[] = [];
  for (let group = 0; group < groups; group++)
    for (let i = 0; i < width; i++) {
      const place = across === lane ? width * group + i : i;
      const offsets = new Map([[lane, place * step]]);
      if (across !== lane) offsets.set(across, group);
      const element = { number: width * group + i, offsets };
      const [at, limit] =
        typeof valid === 'number'
          ? [place, valid]
          : [index(valid.index, element), count(valid.limit)];
      if (at < limit) found.push(element);
    }
  return found;
}
