/**
 * @file Numbers that a tensor is filled with or made from: dtypes refuse what they cannot hold.
 */
import { TesseraError, type ScalarLike, isSymScalar } from '@tessera/shared';
import { DTYPES, type DType } from '../dtype.js';
import type { NamedArgs, TensorMeta } from '../op/op-record.js';
import { roundTo } from './elements.js';
import { bigElement, isBig } from './integer-arithmetic.js';
import { scalarValue } from './pointwise-kernel.js';

/** A meta rule that checks argument `name` against the dtype of the result. @throws invalid-argument */
export function checkingFill<Name extends string, Args extends NamedArgs>(
  name: Name,
  meta: (args: Args) => TensorMeta,
): (args: Args & Readonly<Record<Name, ScalarLike>>) => TensorMeta {
  return (args) => {
    const result = meta(args);
    checkFillValue(args[name], result.dtype);
    return result;
  };
}

/** @throws invalid-argument unless the dtype holds the number */
export function checkFillValue(value: ScalarLike, dtype: DType): void {
  const number = isBig(value) ? bigElement(value) : scalarValue(value);
  if (isSymScalar(value)) value.checks.push((given) => isHeld(dtype, given));
  if (isHeld(dtype, number)) return;
  throw new TesseraError(
    'invalid-argument',
    `value cannot be converted to type ${dtype} without overflow: ${number}`,
    { hints: ['Give a number that fits.'] },
  );
}

function isHeld(dtype: DType, number: number): boolean {
  const held = roundTo(dtype, number);
  return DTYPES[dtype].category === 'integral'
    ? number >= -(2 ** 63) &&
        number < 2 ** 63 &&
        // A negative number is wrapped once by unsigned integers.
        (held === (isBig(number) ? number : Math.trunc(number)) ||
          (dtype === 'uint8' && number < 0 && number > -256))
    : Number.isFinite(held) || !Number.isFinite(number);
}
