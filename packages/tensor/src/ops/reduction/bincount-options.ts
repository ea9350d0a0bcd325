/**
 * @file What `bincount` is asked for and refuses, at once or awaited.
 */
import { type OptionNames, TesseraError } from '@tessera/shared';
import { DTYPES } from '../../dtype.js';
import { sameNumbers } from '../../shape.js';
import type { Tensor } from '../../tensor.js';

/** Options of `bincount`. */
export interface BincountOptions {
  /** What each element counts. */
  readonly weights?: Tensor | null;
  /** How many counts there are at least. */
  readonly minlength?: number;
}
/** The names of `BincountOptions`. */
export const BINCOUNT: OptionNames<BincountOptions> = { weights: true, minlength: true };

/** @throws invalid-argument */
export function refuseCounted(): never {
  throw new TesseraError(
    'invalid-argument',
    'bincount only supports 1-d non-negative integral inputs.',
    { hints: ['Shift the least value to 0.'] },
  );
}

/** Refuses all but negative elements. @throws invalid-argument, dtype-unsupported, shape-mismatch */
export function checkBincount(x: Tensor, weights: Tensor | null, minlength: number): void {
  if (DTYPES[x.dtype].category !== 'integral')
    throw new TesseraError('dtype-unsupported', `"bincount_cpu" not implemented for '${x.dtype}'`, {
      hints: ["Convert first: x.to('int64')."],
    });
  if (minlength < 0)
    throw new TesseraError('invalid-argument', 'minlength should be >= 0', {
      hints: ['It is how many counts there are at least.'],
    });
  if (x.ndim !== 1 && x.numel > 0) refuseCounted();
  if (weights !== null && !sameNumbers(weights.sizes, x.sizes))
    throw new TesseraError(
      'shape-mismatch',
      'weights should be 1-d and have the same length as input',
      { hints: ['One weight for each element.'] },
    );
}
