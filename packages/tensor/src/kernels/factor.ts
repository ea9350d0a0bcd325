/**
 * @file Factors of operators, `alpha` and `beta`, which take no part in type promotion.
 */
import { TesseraError, type ScalarLike } from '@tessera/shared';
import { DTYPES, type DType, isFloatingPoint } from '../dtype.js';
import { numberType } from '../type-promotion.js';
import { roundTo } from './elements.js';
import { scalarValue } from './pointwise-kernel.js';

/** @throws dtype-mismatch for a fraction beside integers, and for a bool beside numbers @see alpha_check */
export function checkFactor(name: string, factor: ScalarLike, dtype: DType): void {
  const kind = DTYPES[numberType(factor)].category;
  const { category } = DTYPES[dtype];
  if (kind === 'bool' ? category === 'bool' : kind === 'integral' || category === 'floating')
    return;
  throw new TesseraError(
    'dtype-mismatch',
    kind === 'bool'
      ? `Boolean ${name} only supported for Boolean results.`
      : `For integral input tensors, argument ${name} must not be a floating point number.`,
    { hints: ['Pass a whole number.'] },
  );
}

/** A factor as a dtype holds it: whole beside integers. */
export function factorFor(dtype: DType, factor: ScalarLike): number {
  const value = scalarValue(factor);
  return isFloatingPoint(dtype) ? value : roundTo(dtype, value);
}
