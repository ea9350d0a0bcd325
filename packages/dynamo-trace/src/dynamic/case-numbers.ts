/**
 * @file `CaseNumbers`: in which cases the steps of a call were so far, as a number.
 *
 * Steps that are always in one case, of operands of a class of layouts, do not count: all that is computed from sizes
 * is as it was.
 */

/** Choices of cases that are told apart: sizes that bring ever new ones are not worth remembering. */
const MOST = 4096;

/** What the steps before a place have decided. */
export interface SoFar {
  /** Of the choice of their cases; -1 where nothing is known of one. */
  readonly number: number;
  /** What their divisions have left (`remaindersOf`). */
  readonly left: readonly number[];
}

/** See the file header. -1 where nothing is known of a step, and for one choice too many. */
export class CaseNumbers {
  /** By the number before the last step and its case. */
  private readonly known = new Map<string, number>();

  /** The number behind a step in a case. */
  behind(before: number, of: string | null): number {
    if (before < 0 || of === null) return -1;
    const key = `${before}|${of}`;
    let found = this.known.get(key);
    if (found === undefined) {
      if (this.known.size === MOST) return -1;
      found = this.known.size + 1;
      this.known.set(key, found);
    }
    return found;
  }
}
