/**
 * @file How the inputs of a segment share memory.
 *
 * Code that writes to an input is right only for inputs that overlap as those did for which it was
 * compiled: `f(a, b)` with `a.add_(1)` inside must see the change in `b` exactly when they overlap.
 */
import type { Storage, Tensor } from '@tessera/tensor';

/** Per input: the first one with the same memory (itself, if none), and how far apart they begin. */
export interface Shared {
  readonly of: number;
  readonly offset: number;
}

/** The sharing among inputs; those that are no tensors share nothing. */
export function sharingOf(inputs: readonly (Tensor | null)[]): Shared[] {
  const first = new Map<Storage, number>();
  return inputs.map((input, i) => {
    const storage = input?.storageOrNull ?? null;
    if (storage === null) return { of: i, offset: 0 };
    const of = first.get(storage);
    if (of === undefined) {
      first.set(storage, i);
      return { of: i, offset: 0 };
    }
    return { of, offset: input!.storageOffset - inputs[of]!.storageOffset };
  });
}

/** Whether inputs share memory as expected; without `offsets`, wherever in it they begin. */
export function sameSharing(
  expected: readonly Shared[],
  inputs: readonly (Tensor | null)[],
  offsets: boolean,
): boolean {
  const actual = sharingOf(inputs);
  return expected.every(
    ({ of, offset }, i) =>
      of === actual[i]!.of && (!offsets || of === i || offset === actual[i]!.offset),
  );
}
