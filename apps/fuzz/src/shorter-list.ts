/**
 * @file Shorter versions of a list, for whatever a program is a list of.
 */

/** The list without runs of its items, long ones first. */
export function* withoutRuns<T>(list: readonly T[]): Generator<readonly T[]> {
  for (let size = list.length >> 1; size >= 1; size >>= 1)
    for (let at = 0; at + size <= list.length; at += size)
      yield [...list.slice(0, at), ...list.slice(at + size)];
}

/** The list with others in the place of one item. */
export function replaced<T>(list: readonly T[], at: number, by: readonly T[]): readonly T[] {
  return [...list.slice(0, at), ...by, ...list.slice(at + 1)];
}
