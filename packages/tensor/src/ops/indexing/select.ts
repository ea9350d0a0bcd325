/**
 * @file Picking whole slices by a vector of indices: index_select, index_add.
 */
import { type ScalarLike, type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { checkIndexType, strictIndex } from '../../kernels/coordinates.js';
import { readElements, readNumbers, roomFor, writeNumbers } from '../../kernels/elements.js';
import { factorFor } from '../../kernels/factor.js';
import { exactIn, productIn } from '../../kernels/integer-arithmetic.js';
import { checkDtype } from '../../kernels/restrict-dtypes.js';
import { checkSourceShape } from '../../kernels/source-shape.js';
import { denseMeta } from '../../kernels/suggest-format.js';
import { defineInplace } from '../../op/inplace.js';
import { defineOp } from '../../op/op-overload.js';
import { formatSizes, wrapDim, numelOf } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { zeros } from '../factory/factory.js';
import { mul } from '../pointwise/arithmetic.js';
import { reshape } from '../view/view.js';

/** Elements before and after a dim. */
function around(sizes: readonly number[], dim: number): { outer: number; inner: number } {
  return {
    outer: numelOf(sizes.slice(0, dim)),
    inner: numelOf(sizes.slice(dim + 1)),
  };
}

const indexSelectOp = defineOp('aten::index_select(Tensor self, int dim, Tensor index) -> Tensor', {
  meta: ({ self, dim, index }) => {
    checkIndexType('index_select', index.dtype);
    if (index.ndim > 1)
      throw new TesseraError(
        'shape-mismatch',
        `index_select(): Index is supposed to be a vector, but it has shape ${formatSizes(index.sizes)}`,
        { hints: ['Flatten it, or use gather() or index().'] },
      );
    if (self.ndim === 0 && index.numel !== 1)
      throw new TesseraError(
        'shape-mismatch',
        `index_select(): Index to scalar can have only 1 value, got ${String(index.numel)} value(s)`,
        { hints: ['Reshape the scalar first: x.reshape([1]).'] },
      );
    const at = wrapDim(dim, self.ndim, 'index_select');
    const sizes = self.sizes.map((size, i) => (i === at ? index.numel : size));
    return denseMeta(self, sizes);
  },
  kernel: ({ self, dim, index }, [out]) => {
    // As in PyTorch, where nothing is read no index is looked at.
    if (out!.numel === 0) return;
    const at = wrapDim(dim, self.ndim);
    const sizes = self.ndim === 0 ? [1] : self.sizes;
    const { outer, inner } = around(sizes, at);
    const values = readElements(self);
    const rows = readNumbers(index);
    const result = roomFor(self.dtype, out!.numel);
    for (let o = 0; o < outer; o++) {
      rows.forEach((row, r) => {
        const from = (o * sizes[at]! + strictIndex(row, sizes[at]!, 'index_select')) * inner;
        const to = (o * rows.length + r) * inner;
        for (let i = 0; i < inner; i++) result[to + i] = values[from + i]!;
      });
    }
    writeNumbers(out!, result);
  },
  saved: ['index'],
  vjp: ({ self, dim, index }, { grad }) => ({
    self: () =>
      indexAdd(zeros(self.sizes, { dtype: grad.dtype, device: grad.device }), dim, index, grad),
  }),
});

const indexAddOp = defineOp(
  'aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor',
  {
    meta: ({ self, dim, index, source }) => {
      checkIndexType('index_add', index.dtype);
      const at = wrapDim(dim, self.ndim, 'index_add');
      if (index.ndim > 1 || (source.ndim === 0 ? 1 : source.sizes[at]) !== index.numel) {
        throw new TesseraError(
          'shape-mismatch',
          `index_add(): Number of indices (${index.numel}) should be equal to source.size(dim) (${formatSizes(source.sizes)}, dim ${at})`,
          { hints: ['One index per slice of the source.'] },
        );
      }
      checkSourceShape(self, source, at);
      checkDtype('index_add', 'source', source, self.dtype);
      return denseMeta(self, self.sizes);
    },
    kernel: ({ self, dim, index, source, alpha }, [out]) => {
      const at = wrapDim(dim, self.ndim);
      const sizes = self.ndim === 0 ? [1] : self.sizes;
      const { outer, inner } = around(sizes, at);
      const result = readElements(self);
      const added = readElements(source);
      const rows = readNumbers(index);
      const factor = factorFor(self.dtype, alpha);
      const times = productIn(self.dtype);
      const join = exactIn(self.dtype, (held, value) => held + times(factor, value));
      for (let o = 0; o < outer; o++) {
        rows.forEach((row, r) => {
          const to = (o * sizes[at]! + strictIndex(row, sizes[at]!, 'index_add')) * inner;
          for (let i = 0; i < inner; i++)
            result[to + i] = join(result[to + i]!, added[(o * rows.length + r) * inner + i]!);
        });
      }
      writeNumbers(out!, result);
    },
    saved: ['index'],
    vjp: ({ dim, index, source, alpha }, { grad }) => ({
      self: grad,
      source: () => {
        const picked = indexSelect(grad, dim, index);
        return mul(source.ndim === 0 ? reshape(picked, []) : picked, alpha);
      },
    }),
  },
);
const indexAddInplace = defineInplace(indexAddOp);

/** The slices of a dimension named by a vector of indices. @throws index-out-of-range, invalid-dim */
export function indexSelect(self: Tensor, dim: number, index: Tensor): Tensor {
  return callOp(indexSelectOp, [self, dim, index]);
}

const ALPHA: OptionNames<{ alpha?: ScalarLike }> = { alpha: true };

/** A copy of self with alpha · source added to the named slices; repeated indices add up. @throws index-out-of-range, shape-mismatch */
export function indexAdd(
  self: Tensor,
  dim: number,
  index: Tensor,
  source: Tensor,
  options?: { alpha?: ScalarLike },
): Tensor {
  checkOptionNames('indexAdd', options, ALPHA);
  return callOp(indexAddOp, [self, dim, index, source, options?.alpha ?? 1]);
}

/** Adds alpha · source to the named slices. */
export function indexAdd_(
  self: Tensor,
  dim: number,
  index: Tensor,
  source: Tensor,
  options?: { alpha?: ScalarLike },
): Tensor {
  checkOptionNames('indexAdd_', options, ALPHA);
  return callOp(indexAddInplace, [self, dim, index, source, options?.alpha ?? 1]);
}
