/**
 * @file `Snapshot`: what a storage holds at one moment, copied only when it is about to change.
 *
 * Whoever may have to compute from old contents later takes a snapshot (`Storage.snapshot`). The storage
 * knows it until its next change and makes the copy then; afterwards only its taker holds it, so a copy
 * that nobody can ask for any more is garbage.
 */
import type { Storage } from './storage.js';

/** How many bytes may still be copied for the snapshots of one taker. */
export interface SnapshotBudget {
  left: number;
}

/** See the file header. */
export class Snapshot {
  /** `current`: the storage still holds it; `kept`: `copy` does; `lost`: the budget was too small. */
  state: 'current' | 'kept' | 'lost' = 'current';
  /** The contents, once `kept`. */
  copy: Storage | null = null;

  constructor(readonly budget: SnapshotBudget) {}
}
