/**
 * @file Sorting and the k largest elements. NaN counts as the largest value; equal elements keep their order.
 */
import { denseMeta } from '../../kernels/suggest-format.js';
import { type OptionNames, checkOptionNames, TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import type { RowOrder } from '../../kernels/order-kernel.js';
import { readRows, writeRows } from '../../kernels/ordered-rows.js';
import { checkNumbers } from '../../kernels/restrict-dtypes.js';
import { metaOfSelf } from '../../memory-format.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { OpRecord, Vjp } from '../../op/op-record.js';
import { wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { zeros } from '../factory/factory.js';
import { scatter } from '../indexing/scatter.js';
import type { ValuesAndIndices } from '../reduction/extremum.js';

/** Orders the rows along a dim by `ordered` and writes the first elements of each, and where they come from. */
function orderRows(
  self: Tensor,
  dim: number,
  [values, indices]: readonly Tensor[],
  ordered: (order: RowOrder, start: number, count: number) => Int32Array,
): void {
  const { values: numbers, order, rows, length } = readRows(self, dim);
  const count = rows === 0 ? 0 : values!.numel / rows;
  const chosen = numbers.slice(0, values!.numel);
  const places = new Int32Array(values!.numel);
  for (let row = 0; row < rows; row++) {
    const start = row * length;
    const first = ordered(order, start, count);
    for (let i = 0, to = row * count; i < count; i++, to++) {
      const place = first[i]!;
      places[to] = place;
      chosen[to] = numbers[start + place]!;
    }
  }
  writeRows(values!, chosen, dim);
  writeRows(indices!, places, dim);
}

/** The gradient returns to where the values came from. */
const scatterBack: Vjp<{ self: Tensor; dim: number }> = ({ self, dim }, { grad, outs }) => ({
  self: () =>
    scatter(zeros(self.sizes, { dtype: grad.dtype, device: grad.device }), dim, outs[1]!, grad),
});

const sortRecord: OpRecord<{ self: Tensor; dim: number; descending: boolean }, never> = {
  meta: ({ self, dim }) => {
    wrapDim(dim, self.ndim, 'sort');
    const values = metaOfSelf({ self });
    return [values, { ...values, dtype: 'int64' as const }];
  },
  kernel: ({ self, dim, descending }, outs) => {
    orderRows(self, dim, outs, (order, start) => order.sort(start, descending));
  },
  saved: ['out.1'],
  vjp: scatterBack,
};
const sortOp = defineOp(
  'aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)',
  sortRecord,
);
export const stableSortOp: OpOverload<[values: Tensor, indices: Tensor]> = defineOp(
  'aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)',
  sortRecord,
);

const argsortOp = defineOp(
  'aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor',
  {
    decompose: ({ self, dim, descending }) => callOp(sortOp, [self, dim, descending])[1],
  },
);
export const stableArgsortOp: OpOverload<Tensor> = defineOp(
  'aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor',
  {
    decompose: ({ self, dim, descending }) => callOp(sortOp, [self, dim, descending])[1],
  },
);

const msortOp = defineOp('aten::msort(Tensor self) -> Tensor', {
  decompose: ({ self }) => callOp(sortOp, [self, 0, false])[0],
});

const topkOp = defineOp(
  'aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)',
  {
    meta: ({ self, k, dim }) => {
      checkNumbers('topk', self);
      const at = wrapDim(dim, self.ndim, 'topk');
      const size = self.ndim === 0 ? 1 : self.sizes[at];
      if (!(k >= 0 && k <= size)) {
        throw new TesseraError(
          'invalid-argument',
          `topk: selected index k out of range: k = ${k}, dimension ${at} has size ${size}`,
          { hints: ['Ask for fewer elements.'] },
        );
      }
      const sizes = self.sizes.map((s, i) => (i === at ? k : s));
      const values = denseMeta(self, sizes);
      return [values, { ...values, dtype: 'int64' as const }];
    },
    kernel: ({ self, dim, largest }, outs) => {
      orderRows(self, dim, outs, (order, start, count) => order.sortBest(start, count, largest));
    },
    saved: ['out.1'],
    vjp: scatterBack,
  },
);

/** Options of `sort` and `argsort`. */
export interface SortOptions {
  /** The largest first (default false). */
  readonly descending?: boolean;
  /** Equal elements keep their order, as they always do here. */
  readonly stable?: boolean;
}
const SORT: OptionNames<SortOptions> = { descending: true, stable: true };

/** Options of `topk`. */
export interface TopkOptions {
  /** The dimension (default the last). */
  readonly dim?: number;
  /** The largest elements, else the smallest (default true). */
  readonly largest?: boolean;
  /** The best first, as they always are here. */
  readonly sorted?: boolean;
}
const TOPK: OptionNames<TopkOptions> = { dim: true, largest: true, sorted: true };

/** Values sorted along a dimension, and where each came from. @throws invalid-dim */
export function sort(self: Tensor, dim = -1, options?: SortOptions): ValuesAndIndices {
  checkOptionNames('sort', options, SORT);
  return callOp(sortOp, [self, dim, options?.descending ?? false]);
}

/** Values sorted along the first dimension. */
export function msort(self: Tensor): Tensor {
  return callOp(msortOp, [self]);
}

/** Indices that sort a dimension. @throws invalid-dim */
export function argsort(self: Tensor, dim = -1, options?: SortOptions): Tensor {
  checkOptionNames('argsort', options, SORT);
  return callOp(argsortOp, [self, dim, options?.descending ?? false]);
}

/** The k largest (or smallest) elements along a dimension, best first, and where each came from. @throws invalid-dim, invalid-argument */
export function topk(self: Tensor, k: number, options?: TopkOptions): ValuesAndIndices {
  checkOptionNames('topk', options, TOPK);
  return callOp(topkOp, [
    self,
    k,
    options?.dim ?? -1,
    options?.largest ?? true,
    options?.sorted ?? true,
  ]);
}
