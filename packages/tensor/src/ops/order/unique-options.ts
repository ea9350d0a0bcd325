/**
 * @file What `unique` and its kin are asked for, at once or awaited.
 */
import { type OptionNames, TesseraError } from '@tessera/shared';
import type { Tensor } from '../../tensor.js';

/** @throws shape-mismatch where there are no slices, or ones without elements */
export function checkSlices(self: Tensor, dim: number): void {
  const problem =
    self.ndim === 0
      ? `Dimension specified as ${dim} but tensor has no dimensions`
      : self.sizes.some((size, d) => size === 0 && d !== dim)
        ? "There are 0 sized dimensions, and they aren't selected, so unique cannot be applied"
        : null;
  if (problem !== null)
    throw new TesseraError('shape-mismatch', problem, { hints: ['Leave dim out.'] });
}

/** What `unique` returns besides the values; `dim` makes whole slices the elements. */
export interface UniqueOptions {
  readonly returnInverse?: boolean;
  readonly returnCounts?: boolean;
  readonly dim?: number | null;
}

/** The values, followed by what the options ask for. */
export type UniqueResult<O extends UniqueOptions> = O['returnInverse'] extends true
  ? O['returnCounts'] extends true
    ? [values: Tensor, inverse: Tensor, counts: Tensor]
    : [values: Tensor, inverse: Tensor]
  : O['returnCounts'] extends true
    ? [values: Tensor, counts: Tensor]
    : Tensor;

/** What the options ask for, of values, inverse and counts. */
export function chosen<O extends UniqueOptions>(
  results: Tensor[],
  options: O | undefined,
): UniqueResult<O> {
  const [values, inverse, counts] = results;
  const extra = [
    ...(options?.returnInverse === true ? [inverse] : []),
    ...(options?.returnCounts === true ? [counts] : []),
  ];
  return (extra.length === 0 ? values : [values, ...extra]) as UniqueResult<O>;
}

/** The names of `UniqueOptions`. */
export const UNIQUE: OptionNames<UniqueOptions> = {
  returnInverse: true,
  returnCounts: true,
  dim: true,
};
