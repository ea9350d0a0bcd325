/**
 * @file What a pass changed, line by line. Made when it is shown: a graph of thousands of nodes that a pass renames is shown
 * as removed and added whole.
 */
import type { PassView } from '@tessera/compile/exploration';
import { diffLines } from 'diff';

/** A line of a difference. */
export interface Change {
  readonly kind: 'same' | 'added' | 'removed';
  readonly text: string;
}

/** Lines that may come and go before the whole counts as replaced. */
const MOST_EDITS = 1000;

/** The lines that stayed, came and went, in order. */
export function passChanges({ before, after }: PassView): readonly Change[] {
  const parts = diffLines(before, after, { maxEditLength: MOST_EDITS }) ?? [
    { value: before, added: false, removed: true },
    { value: after, added: true, removed: false },
  ];
  return parts.flatMap(({ value, added, removed }) => {
    const kind = added ? 'added' : removed ? 'removed' : 'same';
    const lines = value.replace(/\n$/, '').split('\n');
    return lines.map((text) => ({ kind, text }) as const);
  });
}
