/**
 * @file `SegmentCases`: the segments of one program at several sizes, by the cases in which their steps are.
 */
import type { KnownPlace } from '../dynamic/known-place.js';
import type { Segment } from './segment.js';

/** Choices of cases that are told apart. */
const MOST = 8;

/** Segments whose steps are in the same cases. */
export interface SegmentFamily {
  /** The last one that was recorded for other sizes. */
  latest: Segment | null;
  /** The last one whose code knew of other sizes. */
  serving: Segment | null;
}

/** See the file header. */
export class SegmentCases {
  private readonly families = new Map<KnownPlace, SegmentFamily>();

  /** Those in some cases; null where nothing is known of them, and for one choice too many. */
  of(cases: KnownPlace | null): SegmentFamily | null {
    if (cases === null) return null;
    let family = this.families.get(cases) ?? null;
    if (family === null && this.families.size < MOST)
      this.families.set(cases, (family = { latest: null, serving: null }));
    return family;
  }

  /** The last one in some cases whose code knows of other sizes; null where none does. */
  knowing(cases: KnownPlace): Segment | null {
    const family = this.families.get(cases);
    if (family === undefined) return null;
    const { latest, serving } = family;
    if (latest?.knowsOtherSizes === true) return (family.serving = latest);
    // Sizes with code of their own (a 2) know of no others: those before them still do.
    return serving?.knowsOtherSizes === true ? serving : null;
  }
}
