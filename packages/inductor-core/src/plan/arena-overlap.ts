/**
 * @file Whether two buffers of a plan's arena use the same bytes at the same time.
 */

/** A buffer's place in the arena and the launches between which it is used. */
export interface PlacedBuffer {
  readonly name: string;
  readonly start: number;
  readonly end: number;
  readonly first: number;
  readonly last: number;
}

/** Two buffers that clash, or null. In the order of launches, those that are alive are kept by their places. */
export function arenaOverlap(
  buffers: readonly PlacedBuffer[],
): readonly [PlacedBuffer, PlacedBuffer] | null {
  const coming = buffers.filter(({ start, end }) => end > start).sort((a, b) => a.first - b.first);
  const leaving = [...coming].sort((a, b) => a.last - b.last);
  const alive: PlacedBuffer[] = [];
  const placeOf = ({ start }: PlacedBuffer): number => {
    let [low, high] = [0, alive.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (alive[middle]!.start < start) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  let gone = 0;
  for (const buffer of coming) {
    while (leaving[gone]!.last < buffer.first) alive.splice(placeOf(leaving[gone++]!), 1);
    const at = placeOf(buffer);
    const [before, after] = [alive[at - 1], alive[at]];
    if (before !== undefined && before.end > buffer.start) return [before, buffer];
    if (after !== undefined && after.start < buffer.end) return [buffer, after];
    alive.splice(at, 0, buffer);
  }
  return null;
}
