/**
 * @file What the divisions of an operator leave: slices with steps, and windows that move by more than one, make as many
 * elements as a rounded quotient says, which is a polynomial of sizes and of what is left.
 */
import { modNumbers } from '@tessera/shared';
import type { OpOverload } from '@tessera/tensor';
import { LAST, type Shaped, type Sized } from './operator-cases.js';
import { baseName, isUniform } from './uniform-operators.js';
import { windowsOf } from './window-sizes.js';

/** Rules name the types of their operators' schemas, by which calls were checked. */
type Remainders = { of(args: readonly unknown[]): number[] }['of'];

type Slice = [dim?: number, start?: number | null, end?: number | null, step?: number];

const REMAINDERS: Readonly<Record<string, Remainders>> = {
  slice: ([self, ...slice]: [Sized, ...Slice]) => leftOfSlice(self.sizes, slice),
  slice_scatter: ([self, , ...slice]: [Sized, Sized, ...Slice]) => leftOfSlice(self.sizes, slice),
  slice_backward: ([, sizes, ...slice]: [Sized, readonly number[], ...Slice]) =>
    leftOfSlice(sizes, slice),
  chunk: ([self, count, dim = 0]: [Sized, number, number?]) => left(-self.sizes.at(dim)!, count),
  unfold: ([self, dim, length, step]: [Sized, number, number, number]) =>
    left(self.sizes.at(dim)! - length, step),
};

/** Where slices have their steps. */
const STEPS: Readonly<Record<string, number>> = { slice: 4, slice_scatter: 5, slice_backward: 5 };

/**
 * Whether calls of an operator divide sizes by numbers.
 *
 * @param isOne whether an argument is left out, or one in every call
 */
export function dividesSizes(op: OpOverload, isOne: (position: number) => boolean): boolean {
  const name = baseName(op);
  const step = STEPS[name];
  if (step !== undefined) return !isOne(step);
  if (name in REMAINDERS) return true;
  return op.argIndex.has('padding') && isUniform(op) && !name.endsWith('_backward');
}

/** What the divisions of a call of such an operator leave. */
export function remaindersOfCall(op: OpOverload, args: readonly unknown[]): number[] {
  return REMAINDERS[baseName(op)]?.(args) ?? leftOfWindows(op, args);
}

/**
 * What the results of a call are sums and products of, where its tensors are dense: their sizes and the other integers of
 * the call, `numbers`, and what its divisions leave. How many windows an operator moves says of an image all that its size
 * does: what they leave is in no result.
 *
 * @param numbers begin with the sizes of the first argument; changed
 */
export function numbersOfCall(
  op: OpOverload,
  args: readonly unknown[],
  numbers: number[],
): readonly number[] {
  const windows = REMAINDERS[baseName(op)] === undefined ? windowsOf(op, args, kernelOf) : null;
  if (windows === null) return [...numbers, ...remaindersOfCall(op, args)];
  const sizes = sizesOf(args[0]);
  for (const { dim, padding, reach, stride } of windows)
    numbers[sizes.length + dim] = Math.floor((sizes.at(dim)! + 2 * padding - reach) / stride);
  return numbers;
}

function leftOfSlice(sizes: readonly number[], [dim, start, end, step]: Slice): number[] {
  const size = sizes.at(dim ?? 0)!;
  const within = (at: number, least: number): number =>
    Math.min(Math.max(at < 0 ? at + size : at, least), size);
  const from = within(start ?? 0, 0);
  // What is missing, since the last step counts in full.
  return left(from - within(end ?? LAST, from), step ?? 1);
}

function leftOfWindows(op: OpOverload, args: readonly unknown[]): number[] {
  const sizes = sizesOf(args[0]);
  return (windowsOf(op, args, kernelOf) ?? []).flatMap(({ dim, padding, reach, stride }) =>
    left(sizes.at(dim)! + 2 * padding - reach, stride),
  );
}

/** What a division leaves that may leave something. Operators refuse to divide by 0: nothing is known of such a call. */
function left(size: number, divisor: number): number[] {
  if (divisor === 1) return [];
  return [divisor === 0 ? NaN : modNumbers(size, divisor)];
}

function kernelOf(weight: unknown): readonly number[] | undefined {
  return (weight as Shaped | undefined)?.sizes.slice(2);
}

function sizesOf(tensor: unknown): readonly number[] {
  return (tensor as Shaped).sizes;
}
