/**
 * @file Writing whole slices named by a vector of indices: index_copy, index_fill, index_reduce.
 */
import { denseMeta } from '../../kernels/suggest-format.js';
import { type ScalarLike, type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { checkIndexType, sliceLayout, strictIndex } from '../../kernels/coordinates.js';
import { readElements, readNumbers, writeNumbers } from '../../kernels/elements.js';
import { checkSourceShape } from '../../kernels/source-shape.js';
import { defineInplace } from '../../op/inplace.js';
import { defineOp } from '../../op/op-overload.js';
import { formatSizes, wrapDim } from '../../shape.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { toDtype } from '../arrange/copy.js';
import { scalarTensor, zeros } from '../factory/factory.js';
import { fill } from '../pointwise/fill.js';
import { where } from '../pointwise/where.js';
import { indexSelect } from './select.js';
import { indexPutWith } from './indexing.js';
import { type ScatterReduction, scatterReduce } from './scatter-reduce.js';
import { expand, reshape } from '../view/view.js';

interface SliceArgs {
  readonly self: Tensor;
  readonly dim: number;
  readonly index: Tensor;
  readonly source: Tensor;
}

/** @throws dtype-mismatch, shape-mismatch unless there is one slice of `source` per index */
function checkSlices(op: string, { self, dim, index, source }: SliceArgs): number {
  const at = wrapDim(dim, self.ndim, op);
  checkIndexType(op, index.dtype, op === 'index_copy' ? 'int64' : undefined);
  if (source.dtype !== self.dtype)
    throw new TesseraError(
      'dtype-mismatch',
      `${op}(): self and source expected to have the same dtype, but got (self) ${self.dtype} and (source) ${source.dtype}`,
      { hints: [`Convert it: source.to('${self.dtype}').`] },
    );
  const rows = source.ndim === 0 ? 1 : source.sizes[at];
  const others = (t: Tensor): string => formatSizes(t.sizes.filter((_, d) => d !== at));
  const fits =
    index.ndim <= 1 &&
    rows === index.numel &&
    (source.ndim === 0 || self.ndim === 0 || others(source) === others(self));
  if (!fits)
    throw new TesseraError(
      'shape-mismatch',
      `${op}(): Number of indices (${index.numel}) should be equal to source.size(dim): (${rows ?? 0}), and source slices ${formatSizes(source.sizes)} must match destination slices ${formatSizes(self.sizes)} at dimension ${at}`,
      { hints: ['Give one entry per slice.'] },
    );
  return at;
}

const indexCopyOp = defineOp(
  'aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor',
  {
    meta: (args) => {
      checkSlices('index_copy', args);
      return denseMeta(args.self);
    },
    kernel: ({ self, dim, index, source }, [out]) => {
      const { outer, size, inner } = sliceLayout(self.sizes, dim);
      const result = readElements(self);
      const written = readElements(source);
      const rows = readNumbers(index);
      for (let o = 0; o < outer; o++) {
        rows.forEach((row, r) => {
          const from = (o * rows.length + r) * inner;
          const to = (o * size + strictIndex(row, size, 'index_copy')) * inner;
          for (let i = 0; i < inner; i++) result[to + i] = written[from + i]!;
        });
      }
      writeNumbers(out!, result);
    },
    saved: ['index'],
    vjp: ({ dim, index, source }, { grad }) => ({
      self: () => indexFill(grad, dim, index, 0),
      source: () => {
        const picked = indexSelect(grad, dim, index);
        return source.ndim === 0 ? reshape(picked, []) : picked;
      },
    }),
  },
);

interface FillArgs {
  readonly self: Tensor;
  readonly dim: number;
  readonly index: Tensor;
  readonly value: Tensor | ScalarLike;
}

/** @throws dtype-mismatch, shape-mismatch */
function filled({ self: x, dim, index, value }: FillArgs): Tensor {
  checkIndexType('index_fill', index.dtype, 'int64');
  const at = wrapDim(dim, x.ndim, 'index_fill');
  if (index.ndim > 1)
    throw new TesseraError(
      'shape-mismatch',
      `index_fill_(): Index is supposed to be a vector, but it has shape ${formatSizes(index.sizes)}`,
      { hints: ['Flatten it.'] },
    );
  if (isTensor(value) && value.ndim > 0)
    throw new TesseraError(
      'shape-mismatch',
      `index_fill_ only supports a 0-dimensional value tensor, but got tensor with ${value.ndim} dimension(s).`,
      { hints: ['To write a slice per index use indexCopy().'] },
    );
  const size = x.ndim === 0 ? 1 : x.sizes[at]!;
  const named = zeros([size], { dtype: 'bool', device: x.device });
  const holds = scalarTensor(true, { dtype: 'bool', device: x.device });
  const rows = indexPutWith(named, [reshape(index, [-1])], holds);
  // A slice named twice is filled once, and so is its gradient.
  const mask = reshape(
    rows,
    x.sizes.map((_, d) => (d === at ? size : 1)),
  );
  return where(mask, fill(x, isTensor(value) ? toDtype(value, x.dtype) : value), x);
}

const indexFillOp = defineOp(
  'aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor',
  { decompose: filled },
);
const indexFillTensorOp = defineOp(
  'aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor',
  { decompose: filled },
);

const indexReduceOp = defineOp(
  'aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor',
  {
    decompose: (args) => {
      const { self, index, source } = args;
      const at = checkSlices('index_reduce', args);
      checkSourceShape(self, source, at);
      const reduce = args.reduce;
      if (!['prod', 'mean', 'amax', 'amin'].includes(reduce))
        throw new TesseraError(
          'invalid-argument',
          `index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got ${reduce}.`,
          { hints: ['For sums use indexAdd().'] },
        );
      const flat = self.ndim === 0;
      const sizes = source.ndim === 0 ? [1] : source.sizes;
      const wide = expand(
        reshape(
          index,
          sizes.map((_, d) => (d === at ? -1 : 1)),
        ),
        sizes,
      );
      const result = scatterReduce(
        flat ? reshape(self, [1]) : self,
        at,
        wide,
        source.ndim === 0 ? reshape(source, [1]) : source,
        reduce as ScatterReduction,
        { includeSelf: args.include_self },
      );
      return flat ? reshape(result, []) : result;
    },
  },
);
const indexCopyInplace = defineInplace(indexCopyOp);
const indexFillInplace = defineInplace(indexFillOp);
const indexFillTensorInplace = defineInplace(indexFillTensorOp);
const indexReduceInplace = defineInplace(indexReduceOp);

/** A copy of self with the named slices replaced by those of `source`. @throws index-out-of-range, shape-mismatch, dtype-mismatch */
export function indexCopy(self: Tensor, dim: number, index: Tensor, source: Tensor): Tensor {
  return callOp(indexCopyOp, [self, dim, index, source]);
}

/** Replaces the named slices by those of `source`. */
export function indexCopy_(self: Tensor, dim: number, index: Tensor, source: Tensor): Tensor {
  return callOp(indexCopyInplace, [self, dim, index, source]);
}

/** A copy of self with the named slices filled with a number (or a 0-d tensor). @throws index-out-of-range, shape-mismatch */
export function indexFill(
  self: Tensor,
  dim: number,
  index: Tensor,
  value: Tensor | ScalarLike,
): Tensor {
  const op = isTensor(value) ? indexFillTensorOp : indexFillOp;
  return callOp(op, [self, dim, index, value]);
}

/** Fills the named slices with a number (or a 0-d tensor). */
export function indexFill_(
  self: Tensor,
  dim: number,
  index: Tensor,
  value: Tensor | ScalarLike,
): Tensor {
  const op = isTensor(value) ? indexFillTensorInplace : indexFillInplace;
  return callOp(op, [self, dim, index, value]);
}

/** How slices that meet are combined. */
export type IndexReduction = Exclude<ScatterReduction, 'sum'>;

const INCLUDE_SELF: OptionNames<{ includeSelf?: boolean }> = { includeSelf: true };

/** A copy of self with the slices of `source` combined into the named ones. @throws index-out-of-range, shape-mismatch, invalid-argument */
export function indexReduce(
  self: Tensor,
  dim: number,
  index: Tensor,
  source: Tensor,
  reduce: IndexReduction,
  options?: { includeSelf?: boolean },
): Tensor {
  checkOptionNames('indexReduce', options, INCLUDE_SELF);
  const include = options?.includeSelf ?? true;
  return callOp(indexReduceOp, [self, dim, index, source, reduce, include]);
}

/** Combines the slices of `source` into the named ones. */
export function indexReduce_(
  self: Tensor,
  dim: number,
  index: Tensor,
  source: Tensor,
  reduce: IndexReduction,
  options?: { includeSelf?: boolean },
): Tensor {
  checkOptionNames('indexReduce_', options, INCLUDE_SELF);
  const include = options?.includeSelf ?? true;
  return callOp(indexReduceInplace, [self, dim, index, source, reduce, include]);
}
