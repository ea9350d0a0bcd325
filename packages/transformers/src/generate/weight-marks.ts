/**
 * @file Whether the weights of a model are the same as before: what they computed is of no use otherwise.
 */
import type { Module } from '@tessera/nn';
import type { Storage } from '@tessera/tensor';

/** The memory of a weight, and how often it had been written to. */
export interface WeightMark {
  readonly storage: Storage;
  readonly version: number;
}

/** Marks of all parameters and buffers, in order; null where hooks see calls, which may compute anything. */
export function weightMarks(model: Module): WeightMark[] | null {
  for (const module of model.modules()) if (module.hasHooks) return null;
  return [...model.parameters(), ...model.buffers()].map(({ storage }) => ({
    storage,
    version: storage.version,
  }));
}

/** Whether what was computed at the marks `before` is what would be computed now. */
export function sameWeights(
  now: readonly WeightMark[] | null,
  before: readonly WeightMark[] | null,
): boolean {
  return (
    now !== null &&
    before !== null &&
    now.length === before.length &&
    now.every(
      ({ storage, version }, i) => storage === before[i]!.storage && version === before[i]!.version,
    )
  );
}
