/**
 * @file How many windows lie in the dimensions of a node's input: convolutions, pools and patches round quotients, and few
 * samples do not say how.
 *
 * Windows are told by the names of an operator's parameters. What is said here is a proposal, as what is fitted is.
 */
import { type Size, sizeAdd, sizeFloorDiv, sizeMin, sizeProduct } from '@tessera/shared';
import { OpOverload } from '@tessera/tensor';
import { Node } from '../ir/node.js';

/** The sizes of a node's value, as expressions. */
type SizesOf = (node: Node) => readonly Size[] | undefined;

/** How windows lie in one dimension, the first of which is `dim` from the end. */
export interface Windows {
  readonly dim: number;
  /** On both sides; of `same`, half of what is on both together. */
  readonly padding: number;
  /** How much smaller than the padded dimension their number is before they move by more than one, less 1. */
  readonly reach: number;
  readonly stride: number;
  /** A last window may reach beyond the padding. */
  readonly isCeil: boolean;
}

/** What the last sizes of a node's values may be if it moves windows over its input; none if it does not. */
export function windowSizes({ target, args }: Node, sizesOf: SizesOf): readonly Size[] {
  if (!(target instanceof OpOverload)) return [];
  const sizes = (arg: unknown): readonly Size[] | undefined =>
    arg instanceof Node ? sizesOf(arg) : undefined;
  const image = sizes(args[0]);
  const windows = windowsOf(target, args, (weight) => sizes(weight)?.slice(2));
  if (image === undefined || windows === null) return [];
  const counts = windows.map(({ dim, padding, reach, stride, isCeil }) => {
    const size = image.at(dim) ?? 0;
    const span = sizeAdd(size, 2 * padding - reach);
    const last = sizeFloorDiv(isCeil ? sizeAdd(span, stride - 1) : span, stride);
    // Rounded up, the last window starts inside the input or its left padding.
    const most = isCeil ? sizeMin(last, sizeFloorDiv(sizeAdd(size, padding - 1), stride)) : last;
    return sizeAdd(most, 1);
  });
  return target.schema.name === 'im2col' ? [sizeProduct(counts)] : counts;
}

/** The windows that an operator moves, per dimension; null if it has none, or their sizes vary. */
export function windowsOf(
  { argIndex }: OpOverload,
  args: readonly unknown[],
  kernelOf: (weight: unknown) => readonly Size[] | undefined,
): readonly Windows[] | null {
  if (!argIndex.has('padding')) return null;
  const at = (name: string): unknown => args[argIndex.get(name) ?? -1];
  const kernel = kernelOf(at('weight')) ?? at('kernel_size');
  // A transposed convolution multiplies.
  const isTransposed = argIndex.has('output_padding') && at('transposed') !== false;
  if (!isNumbers(kernel) || isTransposed) return null;
  const padding = at('padding');
  const isNamed = typeof padding === 'string';
  return kernel.map((length, d) => {
    const of = (name: string, otherwise: number): number => {
      const list = at(name) as readonly number[] | undefined;
      return list?.[d] ?? list?.[0] ?? otherwise;
    };
    const span = (length - 1) * of('dilation', 1);
    return {
      dim: d - kernel.length,
      padding: isNamed ? (padding === 'same' ? span / 2 : 0) : of('padding', 0),
      reach: 1 + span,
      stride: of('stride', length),
      isCeil: at('ceil_mode') === true,
    };
  });
}

/** Whether a value is a list of numbers. */
export function isNumbers(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'number');
}
