/**
 * @file `CasesBefore`: in which cases the steps of a call are so far, as a number, and what their divisions leave.
 *
 * Steps that are always in one case, of operands of a class of layouts, do not count: all that is computed from sizes
 * is as it was. A region that is jumped over has only such steps, or nothing is known of it.
 */
import { hasCases } from '@tessera/graph';
import type { Frame } from '../frame/frame.js';
import type { Step } from '../trace/step.js';
import { mayLeave } from './remainders.js';

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

/** What is known of the steps before another one. */
export interface Before {
  /** Of the choice of their cases; -1 where nothing is known of one. */
  readonly number: number;
  /** See `remaindersOf`. */
  readonly remainders: readonly number[];
}

/** See the file header. One per call. */
export class CasesBefore {
  private at = 0;
  private found: { number: number; remainders: number[] } = { number: 0, remainders: [] };

  constructor(
    private readonly frame: Frame,
    private readonly numbers: CaseNumbers,
  ) {}

  /** What is known of the steps on a path that only grows, up to a step if it has come to it. */
  of(path: readonly (Step | readonly Step[])[], until: Step | null = null): Before {
    const { frame, numbers } = this;
    // Shorter: a region was recorded, and its steps have become one entry.
    if (this.at > path.length) {
      this.at = 0;
      this.found = { number: 0, remainders: [] };
    }
    const { found } = this;
    for (; this.at < path.length; this.at++) {
      const entry = path[this.at]!;
      if (entry === until) break;
      if (isRegion(entry)) {
        if (entry.some((step) => mayDiffer(step) || mayLeave(step)))
          found.number = numbers.behind(found.number, null);
        continue;
      }
      const made = frame.shapes.find(entry);
      if (mayDiffer(entry))
        found.number = numbers.behind(found.number, made === null ? '' : made.of);
      if (made !== null) found.remainders.push(...made.left);
    }
    return found;
  }
}

function mayDiffer(step: Step): boolean {
  return step.kind === 'op' && hasCases(step.op);
}

function isRegion(entry: Step | readonly Step[]): entry is readonly Step[] {
  return Array.isArray(entry);
}
