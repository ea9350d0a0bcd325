/**
 * @file How the inputs of a segment share memory.
 *
 * Code that writes to an input is right only for inputs that overlap as those did for which it was
 * compiled: `f(a, b)` with `a.add_(1)` inside must see the change in `b` exactly when they overlap. What is written
 * gives its gradient to views of the same tensor, and to others with the memory (`a.detach()`) not.
 */
import type { Storage, Tensor } from '@tessera/tensor';

/** Per input: the first one with the same memory (itself, if none), how far apart they begin, and whether both are views of one tensor. */
export interface Shared {
  readonly of: number;
  readonly offset: number;
  readonly isView: boolean;
}

/** The sharing among inputs; those that are no tensors share nothing. */
export function sharingOf(inputs: readonly (Tensor | null)[]): Shared[] {
  const first = new Map<Storage, number>();
  return inputs.map((input, i) => {
    const storage = input?.storageOrNull ?? null;
    if (storage === null) return alone(i);
    const of = first.get(storage);
    if (of === undefined) {
      first.set(storage, i);
      return alone(i);
    }
    const other = inputs[of]!;
    const offset = input!.storageOffset - other.storageOffset;
    return { of, offset, isView: isViewOf(input!, other) };
  });
}

/** Whether both are views of one tensor. */
function isViewOf(a: Tensor, b: Tensor): boolean {
  return (a.base ?? a) === (b.base ?? b);
}

const alone = (i: number): Shared => ({ of: i, offset: 0, isView: true });

/** Counts inputs of all comparisons, so that a number says which one a storage was met in. */
let met = 0;

/** Whether inputs share memory as expected; without `offsets`, wherever in it they begin. Of every call: makes nothing. */
export function sameSharing(
  expected: readonly Shared[],
  inputs: readonly (Tensor | null)[],
  offsets: boolean,
): boolean {
  const start = met;
  met += inputs.length;
  for (let i = 0; i < inputs.length; i++) {
    const input = inputs[i]!;
    const storage = input?.storageOrNull ?? null;
    const shared = expected[i]!;
    if (storage === null || storage.met < start) {
      if (storage !== null) storage.met = start + i;
      if (shared.of !== i) return false;
      continue;
    }
    const of = storage.met - start;
    const other = inputs[of]!;
    if (of !== shared.of || isViewOf(input, other) !== shared.isView) return false;
    if (offsets && input.storageOffset - other.storageOffset !== shared.offset) return false;
  }
  return true;
}
