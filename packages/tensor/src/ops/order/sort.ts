/**
 * @file Sorting and the k largest elements. NaN counts as the largest value; equal elements keep their order.
 */
import { type OptionNames, checkOptionNames, TesseraError } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { writeNumbers } from '../../kernels/elements.js';
import { mapRows, reduceRows } from '../../kernels/reduce-kernel.js';
import { checkNumbers } from '../../kernels/restrict-dtypes.js';
import { formatStrides } from '../../memory-format.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { OpRecord, Vjp } from '../../op/op-record.js';
import { contiguousStrides, wrapDim, numelOf } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { zeros } from '../factory/factory.js';
import { scatter } from '../indexing/scatter.js';
import type { ValuesAndIndices } from '../reduction/extremum.js';

/** Ascending order with NaN last; descending is its reverse, with equal elements still in order. */
function sortedPositions(values: Float64Array, descending: boolean): number[] {
  const compare = (a: number, b: number): number =>
    a === b || (Number.isNaN(a) && Number.isNaN(b))
      ? 0
      : Number.isNaN(a)
        ? 1
        : Number.isNaN(b)
          ? -1
          : a - b;
  const direction = descending ? -1 : 1;
  return Array.from(values, (_, i) => i).sort(
    (i, j) => direction * compare(values[i]!, values[j]!) || i - j,
  );
}

/** The gradient returns to where the values came from. */
const scatterBack: Vjp<{ self: Tensor; dim: number }> = ({ self, dim }, { grad, outs }) => ({
  self: () =>
    scatter(zeros(self.sizes, { dtype: grad.dtype, device: grad.device }), dim, outs[1]!, grad),
});

const sortRecord: OpRecord<{ self: Tensor; dim: number; descending: boolean }, never> = {
  meta: ({ self, dim }) => {
    wrapDim(dim, self.ndim, 'sort');
    const values = {
      sizes: self.sizes,
      strides: formatStrides(self, null),
      dtype: self.dtype,
      device: self.device,
    };
    return [values, { ...values, dtype: 'int64' as const }];
  },
  kernel: ({ self, dim, descending }, outs) => {
    mapRows(self, wrapDim(dim, self.ndim), outs, (row, [values, indices]) => {
      sortedPositions(row, descending).forEach((from, i) => {
        values![i] = row[from]!;
        indices![i] = from;
      });
    });
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
          { hints: ['Ask for at most as many elements as there are.'] },
        );
      }
      const sizes = self.sizes.map((s, i) => (i === at ? k : s));
      const values = {
        sizes,
        strides: contiguousStrides(sizes),
        dtype: self.dtype,
        device: self.device,
      };
      return [values, { ...values, dtype: 'int64' as const }];
    },
    kernel: ({ self, k: count, dim, largest }, outs) => {
      const at = wrapDim(dim, self.ndim);
      const best = new Float64Array(outs[0]!.numel);
      const from = new Float64Array(outs[0]!.numel);
      reduceRows(self, self.ndim === 0 ? [] : [at], (row, r) => {
        sortedPositions(row, largest)
          .slice(0, count)
          .forEach((position, i) => {
            best[r * count + i] = row[position]!;
            from[r * count + i] = position;
          });
      });
      // Rows hold the k elements in the last dim; the outputs have them in dim `at`.
      const rows = (out: Tensor, values: Float64Array): void => {
        const inner = numelOf(self.sizes.slice(at + 1));
        const placed = values.map((_, i) => {
          const position = Math.floor(i / inner) % count;
          const row = Math.floor(i / (inner * count)) * inner + (i % inner);
          return values[row * count + position]!;
        });
        writeNumbers(out, placed);
      };
      rows(outs[0]!, best);
      rows(outs[1]!, from);
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
