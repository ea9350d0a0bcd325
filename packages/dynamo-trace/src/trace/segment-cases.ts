/**
 * @file `SegmentCases`: the segments of one program at several sizes, by the cases in which their steps are.
 */
import type { Segment } from './segment.js';

/** Choices of cases that are told apart. */
const MOST = 8;

/** Segments whose steps are in the same cases. */
export interface SegmentFamily {
  /** The last one that was recorded for other sizes. */
  latest: Segment | null;
}

/** See the file header. */
export class SegmentCases {
  private readonly families = new Map<string, SegmentFamily>();

  /** Those in some cases; null where nothing is known of them, and for one choice too many. */
  of(cases: string | null): SegmentFamily | null {
    if (cases === null) return null;
    let family = this.families.get(cases) ?? null;
    if (family === null && this.families.size < MOST)
      this.families.set(cases, (family = { latest: null }));
    return family;
  }
}
