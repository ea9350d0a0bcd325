/**
 * @file Arguments of the Bessel functions: of the dtypes that PyTorch has them for, and in the range of a branch.
 */
import { TesseraError } from '@tessera/shared';
import { DTYPES, isFloatingPoint } from '../../dtype.js';
import type { Tensor } from '../../tensor.js';
import { neg } from '../pointwise/arithmetic.js';
import { gt, lt } from '../pointwise/comparison.js';
import { where } from '../pointwise/where.js';
import { checkInput, floating } from './floating.js';

/** Floats of what may be integers. @throws dtype-unsupported for halves */
export function wide(name: string, x: Tensor): Tensor {
  checkInput(x);
  const { itemSize, scalarTypeName } = DTYPES[x.dtype];
  if (!isFloatingPoint(x.dtype) || itemSize > 2) return floating(x);
  throw new TesseraError(
    'dtype-unsupported',
    `"${name}_cpu" not implemented for '${scalarTypeName}'`,
    { context: { op: name, dtype: x.dtype }, hints: ["Convert it: x.to('float32')."] },
  );
}

/** |x|. Not abs, whose derivative at 0 is 0. */
export function sizeOf(x: Tensor): Tensor {
  return where(lt(x, 0), neg(x), x);
}

/** x where it is above 0, elsewhere 1. */
export function positive(x: Tensor): Tensor {
  return where(gt(x, 0), x, 1);
}
