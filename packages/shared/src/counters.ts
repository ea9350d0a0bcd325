/**
 * @file Global counters that tests and `explain` read to see what the compiler did.
 *
 * Two levels, group then key, as `torch._dynamo.utils.counters`: a missing counter is 0. Counting
 * never changes behaviour.
 */

const groups = new Map<string, Map<string, number>>();

/** The global counter registry. */
export interface Counters {
  /** Adds `by` (default 1) to one counter. */
  inc(group: string, key: string, by?: number): void;
  /** One counter; 0 when nothing was counted. */
  get(group: string, key: string): number;
  /** A snapshot of one group. */
  get(group: string): Readonly<Record<string, number>>;
  /** Sets the counters of one group, or of all groups, back to 0. */
  clear(group?: string): void;
  /** A snapshot of everything counted so far. */
  snapshot(): Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** The same, for `JSON.stringify(counters)`. */
  toJSON(): Readonly<Record<string, Readonly<Record<string, number>>>>;
}

function get(group: string, key: string): number;
function get(group: string): Readonly<Record<string, number>>;
function get(group: string, key?: string): number | Readonly<Record<string, number>> {
  const counts = groups.get(group);
  if (key !== undefined) return counts?.get(key) ?? 0;
  return Object.fromEntries(counts ?? []);
}

function snapshot(): Readonly<Record<string, Readonly<Record<string, number>>>> {
  return Object.fromEntries([...groups.keys()].map((group) => [group, get(group)]));
}

/** The global counter registry, as `torch._dynamo.utils.counters`. */
export const counters: Counters = {
  inc(group, key, by = 1) {
    let counts = groups.get(group);
    if (counts === undefined) groups.set(group, (counts = new Map()));
    counts.set(key, (counts.get(key) ?? 0) + by);
  },
  get,
  clear(group) {
    if (group === undefined) groups.clear();
    else groups.delete(group);
  },
  snapshot,
  toJSON: snapshot,
};
