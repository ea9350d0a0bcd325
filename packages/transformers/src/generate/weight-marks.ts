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

/** Marks of all parameters and buffers, in order. */
export function weightMarks(model: Module): WeightMark[] {
  return [...model.parameters(), ...model.buffers()].map(({ storage }) => ({
    storage,
    version: storage.version,
  }));
}

/** Whether nothing was written or replaced between two marks. */
export function sameWeights(now: readonly WeightMark[], before: readonly WeightMark[]): boolean {
  return (
    now.length === before.length &&
    now.every(
      ({ storage, version }, i) => storage === before[i]!.storage && version === before[i]!.version,
    )
  );
}
