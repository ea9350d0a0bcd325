/**
 * @file Reading and writing a tensor as if it were flat (take, put), and gather with broadcasting.
 */
import { checkOptionNames, TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { checkIndexType } from '../../kernels/coordinates.js';
import { defineInplace } from '../../op/inplace.js';
import { defineOp } from '../../op/op-overload.js';
import { broadcastShapes, formatSizes, wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { copy_ } from '../arrange/copy.js';
import { emptyLike } from '../factory/like.js';
import { remainder } from '../pointwise/division.js';
import { type AccumulateOptions, ACCUMULATE, indexPutWith, indexWith } from './indexing.js';
import { gather } from './scatter.js';
import { expand, reshape } from '../view/view.js';

const takeOp = defineOp('aten::take(Tensor self, Tensor index) -> Tensor', {
  decompose: ({ self, index }) => {
    checkIndexType('take', index.dtype, 'int64');
    if (self.numel === 0 && index.numel > 0)
      throw new TesseraError('index-out-of-range', 'take(): tried to take from an empty tensor', {
        hints: ['An empty tensor has no elements to name.'],
      });
    // Dense, whatever the layout of the index is.
    return reshape(indexWith(reshape(self, [-1]), [reshape(index, [-1])]), index.sizes);
  },
});

const putOp = defineOp(
  'aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor',
  {
    decompose: ({ self: x, index, source, accumulate }) => {
      checkIndexType('put_', index.dtype, 'int64');
      if (index.numel !== source.numel)
        throw new TesseraError(
          'shape-mismatch',
          `put_(): source has ${source.numel} elements, index ${index.numel}`,
          { hints: ['One element per index.'] },
        );
      const values = reshape(source, [-1]);
      const at = [reshape(index, [-1])];
      const written = reshape(indexPutWith(reshape(x, [-1]), at, values, accumulate), x.sizes);
      return x.isContiguous() ? written : copy_(emptyLike(x), written);
    },
  },
);
const putInplace = defineInplace(putOp);

const takeAlongOp = defineOp(
  'aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor',
  {
    decompose: ({ self: x, indices: index, dim }) => {
      checkIndexType('take_along_dim', index.dtype);
      if (dim === null) return gather(reshape(x, [-1]), 0, reshape(index, [-1]));
      if (x.ndim !== index.ndim)
        throw new TesseraError(
          'shape-mismatch',
          `take_along_dim(): the input has ${x.ndim} dimensions, indices have ${index.ndim}`,
          { hints: [`Sizes are ${formatSizes(x.sizes)} and ${formatSizes(index.sizes)}.`] },
        );
      const at = wrapDim(dim, x.ndim, 'take_along_dim');
      const without = (sizes: readonly number[]): number[] =>
        sizes.map((size, d) => (d === at ? 1 : size));
      const shape = broadcastShapes([without(x.sizes), without(index.sizes)], 'take_along_dim');
      const along = (t: Tensor): Tensor =>
        expand(
          t,
          shape.map((size, d) => (d === at ? t.sizes[d]! : size)),
        );
      // Places count round and round, unlike those of gather.
      const size = x.sizes[at] ?? 1;
      return gather(along(x), at, size === 0 ? along(index) : remainder(along(index), size));
    },
  },
);

/** Elements by their position in the flattened tensor; the result has the shape of the index. @throws index-out-of-range, dtype-mismatch */
export function take(self: Tensor, index: Tensor): Tensor {
  return callOp(takeOp, [self, index]);
}

/** A copy of self with `source` written (or added) at positions in the flattened tensor. @throws index-out-of-range, shape-mismatch, dtype-mismatch */
export function put(
  self: Tensor,
  index: Tensor,
  source: Tensor,
  options?: AccumulateOptions,
): Tensor {
  checkOptionNames('put', options, ACCUMULATE);
  return callOp(putOp, [self, index, source, options?.accumulate ?? false]);
}

/** Writes (or adds) `source` at positions in the flattened tensor. */
export function put_(
  self: Tensor,
  index: Tensor,
  source: Tensor,
  options?: AccumulateOptions,
): Tensor {
  checkOptionNames('put_', options, ACCUMULATE);
  return callOp(putInplace, [self, index, source, options?.accumulate ?? false]);
}

/** gather() whose other dimensions broadcast; without a dimension, of the flattened tensors. @throws index-out-of-range, shape-mismatch */
export function takeAlongDim(self: Tensor, indices: Tensor, dim: number | null = null): Tensor {
  return callOp(takeAlongOp, [self, indices, dim]);
}
