/**
 * @file How the inputs of a segment share memory.
 *
 * Code that writes to an input is right only for inputs that overlap as those did for which it was
 * compiled: `f(a, b)` with `a.add_(1)` inside must see the change in `b` exactly when they overlap. What is written
 * gives its gradient to views of the same tensor, and to others with the memory (`a.detach()`) not; some views must
 * not be written.
 */
import type { Storage, Tensor } from '@tessera/tensor';
import type { MadeAs } from '@tessera/tensor/internal';
import type { SegmentInput } from '../backend.js';

/**
 * Per input: the first one with the same memory (itself, if none; -1 where nothing writes to that memory), how far apart
 * they begin, whether both are views of one tensor, and how it was made as a view (undefined where that does not matter).
 */
export interface Shared {
  readonly of: number;
  readonly offset: number;
  readonly isView: boolean;
  readonly madeAs: MadeAs | undefined;
}

/** The sharing among inputs, of which those in `written` memory count; those that are no tensors share nothing. */
export function sharingOf(
  inputs: readonly (Tensor | null)[],
  written: { has(storage: Storage): boolean },
): Shared[] {
  const first = new Map<Storage, number>();
  return inputs.map((input, i) => {
    const storage = input?.storageOrNull ?? null;
    const madeAs = input?.madeAs ?? null;
    const alone = { of: i, offset: 0, isView: true, madeAs };
    if (storage === null) return alone;
    if (!written.has(storage)) return { ...alone, of: -1 };
    const of = first.get(storage);
    if (of === undefined) {
      first.set(storage, i);
      return alone;
    }
    const other = inputs[of]!;
    const offset = input!.storageOffset - other.storageOffset;
    return { of, offset, isView: isViewOf(input!, other), madeAs };
  });
}

/** Whether both are views of one tensor. */
function isViewOf(a: Tensor, b: Tensor): boolean {
  return (a.base ?? a) === (b.base ?? b);
}

/** Counts inputs of all comparisons, so that a number says which one a storage was met in. */
let met = 0;

/** Whether inputs share memory as expected; without `offsets`, wherever in it they begin. Of every call: makes nothing. */
export function sameSharing(
  expected: readonly Shared[],
  inputs: readonly SegmentInput[],
  offsets: boolean,
): boolean {
  const start = met;
  met += inputs.length;
  for (let i = 0; i < inputs.length; i++) {
    const input = inputs[i]!;
    if (typeof input === 'number') continue;
    const storage = input.storageOrNull;
    const shared = expected[i]!;
    if (shared.madeAs !== undefined && shared.madeAs !== input.madeAs) return false;
    if (storage === null || storage.met < start) {
      if (storage !== null) storage.met = start + i;
      if (shared.of >= 0 && shared.of !== i) return false;
      continue;
    }
    const of = storage.met - start;
    if (shared.of < 0 && expected[of]!.of < 0) continue;
    const other = inputs[of] as Tensor;
    if (of !== shared.of || isViewOf(input, other) !== shared.isView) return false;
    if (offsets && input.storageOffset - other.storageOffset !== shared.offset) return false;
  }
  return true;
}
