/**
 * @file Which conversions between element types lose nothing.
 */
import type { DType } from '@tessera/tensor';
import { isFloat } from './scalar-eval.js';

const INT_BITS: Partial<Record<DType, number>> = {
  bool: 1,
  uint8: 8,
  int8: 8,
  int16: 16,
  int32: 32,
  int64: 64,
};

/** Whether every value of `narrow` converts to `wide` and on without loss. */
export function holds(wide: DType, narrow: DType): boolean {
  if (narrow === 'bool') return wide !== 'bool';
  if (isFloat(narrow)) return wide === 'float64' || (wide === 'float32' && narrow !== 'float64');
  if (isFloat(wide))
    return (
      (INT_BITS[narrow]! <= 16 && wide === 'float32') ||
      (INT_BITS[narrow]! <= 32 && wide === 'float64')
    );
  const signedFits = narrow === 'uint8' ? wide !== 'int8' : true;
  return signedFits && wide !== 'bool' && INT_BITS[wide]! > INT_BITS[narrow]!;
}
