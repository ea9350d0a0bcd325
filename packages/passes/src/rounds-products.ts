/**
 * @file Where a product that something is added to is another number than `addmm`: of 16-bit floats the product is
 * rounded, and the sum again; `addmm` rounds once.
 */
import type { DType } from '@tessera/tensor';

/** See the file header. */
export function roundsProducts(dtype: DType): boolean {
  return dtype === 'float16' || dtype === 'bfloat16';
}
