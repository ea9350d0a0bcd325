/**
 * @file `CasesBefore`: in which cases the steps of a call are so far, as a number, and what their divisions leave.
 *
 * Steps that are always in one case, of operands of a class of layouts, do not count: all that is computed from sizes
 * is as it was. A region that is jumped over has only such steps, or nothing is known of it.
 */
import type { Frame } from '../frame/frame.js';
import type { Step } from '../trace/step.js';
import { mayLeave } from './remainders.js';
import { ruleOf } from './step-rule.js';

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
  private remainders: readonly number[] = [];
  /** `sizes`, and what they are made of. */
  private joined: readonly number[] = [];
  private of: readonly (readonly number[])[] = [];
  /** Of the choice of the cases of the steps so far; -1 where nothing is known of one. */
  number = 0;

  constructor(
    private readonly frame: Frame,
    private readonly numbers: CaseNumbers,
  ) {}

  /** Follows a path that only grows, up to a step if it has come to it. */
  follow(path: readonly (Step | readonly Step[])[], until: Step | null = null): this {
    const { frame, numbers } = this;
    // Shorter: a region was recorded, and its steps have become one entry.
    if (this.at > path.length) {
      this.at = this.number = 0;
      this.remainders = [];
    }
    for (; this.at < path.length; this.at++) {
      const entry = path[this.at]!;
      if (entry === until) break;
      if (isRegion(entry)) {
        if (entry.some((step) => mayDiffer(step) || mayLeave(step)))
          this.number = numbers.behind(this.number, null);
        continue;
      }
      const differs = mayDiffer(entry);
      const made = differs || mayLeave(entry) ? frame.shapes.find(entry) : null;
      if (differs) this.number = numbers.behind(this.number, made === null ? '' : made.of);
      if (made !== null && made.left.length > 0)
        this.remainders = [...this.remainders, ...made.left];
    }
    return this;
  }

  /** The sizes of the call, and what the steps so far have left of them (`remaindersOf`); the same list while they are. */
  get sizes(): readonly number[] {
    const { remainders } = this;
    const values = this.frame.symbolValues();
    if (remainders.length === 0) return values;
    if (this.of[0] !== values || this.of[1] !== remainders) {
      this.of = [values, remainders];
      this.joined = [...values, ...remainders];
    }
    return this.joined;
  }
}

function mayDiffer(step: Step): boolean {
  return step.kind === 'op' && ruleOf(step).hasCases;
}

function isRegion(entry: Step | readonly Step[]): entry is readonly Step[] {
  return Array.isArray(entry);
}
