/**
 * @file Reductions of truth values: any, all.
 */
import { checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import type { DType } from '../../dtype.js';
import type { Elements } from '../../kernels/elements.js';
import { reduceKernel, reduceMeta } from '../../kernels/reduce-kernel.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { OpRecord } from '../../op/op-record.js';
import type { Tensor } from '../../tensor.js';
import { toDtype } from '../arrange/copy.js';
import { ne } from '../pointwise/comparison.js';
import { KEEPDIM, type KeepdimOptions } from './reduce-options.js';

interface Quantifier {
  readonly all: OpOverload<Tensor>;
  readonly dim: OpOverload<Tensor>;
  readonly dims: OpOverload<Tensor>;
}

/** uint8 keeps its type, as in PyTorch. */
function truthType(self: Tensor): DType {
  return self.dtype === 'uint8' ? 'uint8' : 'bool';
}

function define(name: string, test: (values: Elements) => boolean): Quantifier {
  const record: OpRecord<{ self: Tensor }, never> = {
    tags: ['reduction', 'non-differentiable'],
    meta: reduceMeta(name, truthType),
    kernel: reduceKernel(name, (values) => (test(values) ? 1 : 0)),
  };
  return {
    all: defineOp(`aten::${name}(Tensor self) -> Tensor`, record),
    dim: defineOp(`aten::${name}.dim(Tensor self, int dim, bool keepdim=False) -> Tensor`, record),
    dims: defineOp(
      `aten::${name}.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor`,
      record,
    ),
  };
}

const anyOps = define('any', (values) => values.some((value) => value !== 0));
const allOps = define('all', (values) => values.every((value) => value !== 0));

function call(
  ops: Quantifier,
  self: Tensor,
  dim: number | readonly number[] | null,
  options: KeepdimOptions | undefined,
): Tensor {
  const keepdim = options?.keepdim ?? false;
  // No dimensions are none of them, not all as for other reductions.
  if (Array.isArray(dim) && dim.length === 0) return toDtype(ne(self, 0), truthType(self));
  if (dim === null && !keepdim) return callOp(ops.all, [self]);
  return callOp(typeof dim === 'number' ? ops.dim : ops.dims, [self, dim, keepdim]);
}

/** Whether any element is non-zero, over dims (all by default; of `[]` each by itself). @throws invalid-dim */
export function any(
  self: Tensor,
  dim: number | readonly number[] | null = null,
  options?: KeepdimOptions,
): Tensor {
  checkOptionNames('any', options, KEEPDIM);
  return call(anyOps, self, dim, options);
}

/** Whether all elements are non-zero, over dims (all by default; of `[]` each by itself). @throws invalid-dim */
export function all(
  self: Tensor,
  dim: number | readonly number[] | null = null,
  options?: KeepdimOptions,
): Tensor {
  checkOptionNames('all', options, KEEPDIM);
  return call(allOps, self, dim, options);
}
