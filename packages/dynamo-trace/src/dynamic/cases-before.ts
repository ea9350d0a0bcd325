/**
 * @file `CasesBefore`: in which cases the steps of a call are so far, as a number.
 *
 * Steps that are always in one case, of operands of a class of layouts, do not count: all that is computed from sizes
 * is as it was. A region that is jumped over has only such steps, or nothing is known of it.
 */
import { hasCases } from '@tessera/graph';
import type { Frame } from '../frame/frame.js';
import type { Step } from '../trace/step.js';

/** Choices of cases that are told apart: sizes that bring ever new ones are not worth remembering. */
const MOST = 4096;

/** Numbers of choices of cases; -1 where nothing is known of a step, and for one choice too many. */
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

/** See the file header. One per call. */
export class CasesBefore {
  private at = 0;
  private found = 0;

  constructor(
    private readonly frame: Frame,
    private readonly numbers: CaseNumbers,
  ) {}

  /** The number of the cases on a path that only grows, up to a step if it has come to it. */
  number(path: readonly (Step | readonly Step[])[], until: Step | null = null): number {
    if (this.at > path.length) {
      // A region was recorded: its steps have become one entry.
      this.at = 0;
      this.found = 0;
    }
    for (; this.at < path.length; this.at++) {
      const entry = path[this.at]!;
      if (entry === until) break;
      if (isRegion(entry)) {
        if (entry.some(mayDiffer)) this.found = this.numbers.behind(this.found, null);
      } else if (mayDiffer(entry))
        this.found = this.numbers.behind(this.found, this.frame.shapes.caseOf(entry));
    }
    return this.found;
  }
}

function mayDiffer(step: Step): boolean {
  return step.kind === 'op' && hasCases(step.op);
}

function isRegion(entry: Step | readonly Step[]): entry is readonly Step[] {
  return Array.isArray(entry);
}
