/**
 * @file Writing under masks: masked_scatter, and advanced indexing where a mask holds.
 *
 * A running count of the mask says which element of the source a position takes, so no shape depends on
 * values and all of it compiles.
 */
import { TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { defineInplace } from '../../op/inplace.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { broadcastShapes, numelOf } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { clone, contiguous } from '../arrange/copy.js';
import { clamp, clampMin } from '../pointwise/extremum.js';
import { zeros } from '../factory/factory.js';
import { newFull } from '../factory/like.js';
import { maskedFill } from '../pointwise/fill.js';
import { type TensorIndices, checkBoolMask, indexWith, indexPutWith } from './indexing.js';
import { logicalNot } from '../pointwise/logical.js';
import { add, sub } from '../pointwise/arithmetic.js';
import { sum } from '../reduction/reduction.js';
import { cat } from '../arrange/join.js';
import { cumsum } from '../scan/scan.js';
import { scatterAdd } from './scatter.js';
import { expand, reshape } from '../view/view.js';
import { narrow } from '../view/slice.js';
import { where } from '../pointwise/where.js';

/** Number, from 0, of each position among those where a flat mask holds; -1 before the first. */
function rankUnder(mask: Tensor): Tensor {
  return sub(cumsum(mask, 0), 1);
}

const maskedScatterOp = defineOp(
  'aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor',
  {
    decompose: (args) => {
      const { self, mask, source } = args;
      checkBoolMask('masked_scatter_', mask);
      if (self.dtype !== source.dtype)
        throw new TesseraError(
          'dtype-mismatch',
          `masked_scatter: expected self and source to have same dtypes but got ${self.dtype} and ${source.dtype}`,
          { hints: [`Convert it: source.to('${self.dtype}').`] },
        );
      const sizes = broadcastShapes([self.sizes, mask.sizes], 'masked_scatter');
      // Row-major, whatever the layouts are.
      const into = contiguous(expand(self, sizes));
      // The sum of no elements: nothing is written, but the gradient of source is zero, not absent.
      if (numelOf(sizes) === 0)
        return source.requiresGrad && source.numel === 0 ? add(into, sum(source)) : clone(into);
      const holds = contiguous(expand(mask, sizes));
      const flat = reshape(source, [-1]);
      const counted = reshape(holds, [-1]);
      // Of an empty source nothing may be wanted: places from 1 are outside of the one element before it.
      const values =
        source.numel === 0
          ? indexWith(cat([zeros([1], { dtype: source.dtype, device: source.device }), flat]), [
              cumsum(counted, 0),
            ])
          : indexWith(flat, [clampMin(rankUnder(counted), 0)]);
      return where(holds, reshape(values, sizes), into);
    },
  },
);
const maskedScatterInplace = defineInplace(maskedScatterOp);

export const maskedScatterBackwardOp: OpOverload<Tensor> = defineOp(
  'aten::masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor',
  {
    decompose: ({ grad_output: grad, mask, sizes }) => {
      const count = numelOf(sizes);
      const holds = reshape(expand(mask, grad.sizes), [-1]);
      // Gradients that belong to no element go to one more, which is cut off.
      const to = where(holds, rankUnder(holds), count);
      const blank = zeros([count + 1], { dtype: grad.dtype, device: grad.device });
      const sums = scatterAdd(blank, 0, to, reshape(grad, [-1]));
      return reshape(narrow(sums, 0, 0, count), sizes);
    },
  },
);

/** Indices within bounds: what lies outside is masked out. */
function bounded(self: Tensor, indices: TensorIndices): (Tensor | null)[] {
  return indices.map((index, d) =>
    index === null ? null : clamp(index, -self.sizes[d]!, self.sizes[d]! - 1),
  );
}

export const unsafeMaskedIndexOp: OpOverload<Tensor> = defineOp(
  'aten::_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor',
  {
    decompose: ({ self: x, mask, indices, fill }) => {
      if (x.numel === 0) return newFull(x, mask.sizes, fill);
      const read = indexWith(x, bounded(x, indices));
      return maskedFill(read, logicalNot(mask), fill);
    },
  },
);
export const unsafeMaskedIndexPutAccumulateOp: OpOverload<Tensor> = defineOp(
  'aten::_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor',
  {
    decompose: ({ self: x, mask, indices, values }) => {
      if (x.numel === 0) return clone(x);
      const added = maskedFill(values, logicalNot(mask), 0);
      return indexPutWith(x, bounded(x, indices), added, true);
    },
  },
);

/** A copy of self with the elements of `source`, in order, where the mask holds. @throws dtype-mismatch, shape-mismatch, index-out-of-range if the source has too few */
export function maskedScatter(self: Tensor, mask: Tensor, source: Tensor): Tensor {
  return callOp(maskedScatterOp, [self, mask, source]);
}

/** Writes the elements of `source`, in order, where the mask holds. */
export function maskedScatter_(self: Tensor, mask: Tensor, source: Tensor): Tensor {
  return callOp(maskedScatterInplace, [self, mask, source]);
}
