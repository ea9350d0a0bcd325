/**
 * @file Checking that what was computed is what the rules of operators had said.
 */
import { TesseraError } from '@tessera/shared';
import { formatSizes, sameNumbers } from '../shape.js';
import type { Tensor } from '../tensor.js';

/** @param by what computed it, for the message @throws shape-mismatch, dtype-mismatch */
export function checkPromise(by: string, value: Tensor, promised: Tensor): void {
  const isShape = sameNumbers(value.sizes, promised.sizes);
  if (isShape && value.dtype === promised.dtype) return;
  const print = ({ dtype, sizes }: Tensor): string => `${dtype} ${formatSizes(sizes)}`;
  throw new TesseraError(
    isShape ? 'dtype-mismatch' : 'shape-mismatch',
    `${by} gave ${print(value)} in place of ${print(promised)}.`,
    { hints: ["What a kernel or a backend gives must be what the operators' meta rules say."] },
  );
}
