/**
 * @file What `repeat_interleave` is asked for and refuses, at once or awaited.
 */
import { type OptionNames, TesseraError } from '@tessera/shared';
import { wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { flatten } from '../view/dims.js';
import { expand, reshape } from '../view/view.js';

/** The names of the options. */
export const OUTPUT_SIZE: OptionNames<{ outputSize?: number }> = { outputSize: true };
/** Said of a count below 0. */
export const NEGATIVE = 'repeats can not be negative';

/** @throws invalid-argument */
export function refuseRepeats(message: string): never {
  throw new TesseraError('invalid-argument', message, {
    hints: ['Give counts from 0.'],
  });
}

/** @throws invalid-argument unless counts are integers in a row */
export function checkCounts(counts: Tensor): void {
  if (counts.ndim !== 1) refuseRepeats('repeat_interleave only accept 1D vector as repeat');
  if (counts.dtype !== 'int64' && counts.dtype !== 'int32')
    refuseRepeats('repeats has to be Long or Int tensor');
}

/** The tensor and dimension whose slices are repeated, and a count for each. @throws invalid-argument, invalid-dim */
export function checkedRepeats(
  self: Tensor,
  repeats: Tensor,
  dim: number | null,
): { input: Tensor; at: number; counts: Tensor } {
  const input = dim === null ? flatten(self) : self;
  const at = wrapDim(dim ?? 0, input.ndim, 'repeat_interleave');
  const length = input.ndim === 0 ? 1 : input.sizes[at]!;
  if (repeats.ndim > 1) refuseRepeats('repeats must be 0-dim or 1-dim tensor');
  if (repeats.ndim === 1 && repeats.numel !== 1 && repeats.numel !== length)
    refuseRepeats(`${repeats.numel} repeats for dimension ${at} of size ${length}`);
  const counts = repeats.numel === 1 ? expand(reshape(repeats, [1]), [length]) : repeats;
  return { input, at, counts };
}
