/**
 * @file The cross product of `torch.linalg`: along the last dimension unless another is named.
 */
import { type OptionNames, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import type { Tensor } from '../../tensor.js';
import { linalgCrossOp } from '../matmul/cross-op.js';

const DIM: OptionNames<{ readonly dim?: number }> = { dim: true };

/** Cross products of vectors along a dimension; the last by default. @throws shape-mismatch */
export function cross(self: Tensor, other: Tensor, options?: { readonly dim?: number }): Tensor {
  checkOptionNames('cross', options, DIM);
  return callOp(linalgCrossOp, [self, other, options?.dim ?? -1]);
}
