/**
 * @file What numbers count as beside an operator's tensors.
 */
import { DTYPES, isFloatingPoint, isTensor } from '@tessera/tensor';

/** Whether a number among the arguments counts as a float, be it whole or not: beside floats, and no integers. */
export function isBesideFloats(args: readonly unknown[]): boolean {
  const dtypes = args
    .flat()
    .filter(isTensor)
    .map((tensor) => tensor.dtype);
  return (
    dtypes.some(isFloatingPoint) && dtypes.every((dtype) => DTYPES[dtype].category !== 'integral')
  );
}
