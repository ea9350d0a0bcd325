/**
 * @file Reductions that look past some elements: nansum, nanmean, count_nonzero, and both extremes at once.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { isFloatingPoint } from '../../dtype.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { isnan, ne } from '../pointwise/comparison.js';
import { div } from '../pointwise/division.js';
import { logicalNot } from '../pointwise/logical.js';
import { sum } from './reduction.js';
import { type ReduceOptions, REDUCE } from './reduce-options.js';
import { amax, amin } from './extremum.js';
import { type Dims, dimList } from './spread.js';
import { where } from '../pointwise/where.js';

const nansumOp = defineOp(
  'aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor',
  {
    decompose: ({ self: x, dim, keepdim, dtype }) => {
      const options = { keepdim: keepdim, dtype: dtype ?? undefined };
      const known = isFloatingPoint(x.dtype) ? where(isnan(x), 0, x) : x;
      return sum(known, dim, options);
    },
  },
);

const nanmeanOp = defineOp(
  'aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor',
  {
    decompose: ({ self, dim, keepdim, dtype }) => {
      if (!isFloatingPoint(self.dtype))
        throw new TesseraError(
          'dtype-unsupported',
          `nanmean(): expected input to have floating point or complex dtype but got ${self.dtype}`,
          { hints: ["Convert first: x.to('float32').nanmean()."] },
        );
      const known = sum(logicalNot(isnan(self)), dim, {
        keepdim: keepdim,
      });
      return div(callOp(nansumOp, [self, dim, keepdim, dtype]), known);
    },
  },
);

const countDimsOp = defineOp('aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor', {
  decompose: ({ self, dim }) => sum(ne(self, 0), dim),
});
export const countAllOp: OpOverload<Tensor> = defineOp(
  'aten::count_nonzero(Tensor self, int? dim=None) -> Tensor',
  {
    decompose: ({ self, dim }) => sum(ne(self, 0), dim),
  },
);

const aminmaxOp = defineOp(
  'aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)',
  {
    decompose: ({ self, dim, keepdim }) => {
      const over = dim === null ? [] : [dim];
      return [amin(self, over, { keepdim }), amax(self, over, { keepdim })];
    },
  },
);

/** Sum over dims (all by default) with NaN counted as 0. @throws invalid-dim */
export function nansum(self: Tensor, dim: Dims = null, options?: ReduceOptions): Tensor {
  checkOptionNames('nansum', options, REDUCE);
  return callOp(nansumOp, [self, dimList(dim), options?.keepdim ?? false, options?.dtype ?? null]);
}

/** Mean over dims (all by default) of the elements that are not NaN. @throws invalid-dim, dtype-unsupported */
export function nanmean(self: Tensor, dim: Dims = null, options?: ReduceOptions): Tensor {
  checkOptionNames('nanmean', options, REDUCE);
  return callOp(nanmeanOp, [self, dimList(dim), options?.keepdim ?? false, options?.dtype ?? null]);
}

/** Number of elements other than 0 over dims (all by default). @throws invalid-dim */
export function countNonzero(self: Tensor, dim: Dims = null): Tensor {
  return callOp(countDimsOp, [self, dimList(dim) ?? []]);
}

/** Options of `aminmax`: `dim` null takes all elements. */
export interface AminmaxOptions {
  readonly dim?: number | null;
  readonly keepdim?: boolean;
}
const AMINMAX: OptionNames<AminmaxOptions> = { dim: true, keepdim: true };

/** Smallest and largest elements, overall or along a dimension. @throws invalid-dim, shape-mismatch */
export function aminmax(
  self: Tensor,
  options?: AminmaxOptions,
): [smallest: Tensor, largest: Tensor] {
  checkOptionNames('aminmax', options, AMINMAX);
  return callOp(aminmaxOp, [self, options?.dim ?? null, options?.keepdim ?? false]);
}
