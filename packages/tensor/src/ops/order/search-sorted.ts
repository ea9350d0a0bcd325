/**
 * @file Searching sorted sequences: where values would be inserted, and which bucket they fall in.
 */
import { denseMeta } from '../../kernels/suggest-format.js';
import { type ScalarLike, type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { strictIndex } from '../../kernels/coordinates.js';
import {
  type Elements,
  readElements,
  readNumbers,
  roundTo,
  writeNumbers,
} from '../../kernels/elements.js';
import { scalarValue } from '../../kernels/pointwise-kernel.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { TensorMeta } from '../../op/op-record.js';
import { isFloatingPoint } from '../../dtype.js';
import { formatSizes, sameNumbers } from '../../shape.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { resultType } from '../../type-promotion.js';
import { toDtype } from '../arrange/copy.js';
import { checkTensors } from '../../check-tensors.js';

/**
 * For each value the position in its sequence before the first element that is at least as large (or, on the right,
 * larger): values in groups of `perRow`, sequences of `length`. Comparisons with NaN fail, so NaN goes last.
 */
function insertions(
  sequences: Elements,
  length: number,
  values: Elements,
  perRow: number,
  right: boolean,
): Int32Array {
  const found = new Int32Array(values.length);
  for (let i = 0, start = 0, left = perRow; i < found.length; i++, left--) {
    if (left === 0) {
      start += length;
      left = perRow;
    }
    const value = values[i]!;
    let at = start;
    // Few branches depend on the values: engines would guess every other one wrong.
    for (let rest = length; rest > 0;) {
      const half = rest >> 1;
      const element = sequences[at + half]!;
      const before = Number(right ? !(element > value) : !(element >= value));
      at += (half + 1) & -before;
      rest = half - (before & ~rest);
    }
    found[i] = at - start;
  }
  return found;
}

function refuse(
  code: 'shape-mismatch' | 'dtype-mismatch' | 'invalid-argument',
  text: string,
): never {
  throw new TesseraError(code, `torch.searchsorted(): ${text}`, {
    hints: [
      'The last dimension holds the sorted sequence; leading dimensions are those of the values.',
    ],
  });
}

/** What an operator calls the sorted values. */
type Sequence = 'sorted_sequence' | 'boundaries';

type SearchArgs = {
  readonly [Name in Sequence]?: Tensor;
} & {
  readonly self: Tensor | ScalarLike;
  readonly out_int32: boolean;
  readonly right: boolean;
  readonly side?: string | null;
  readonly sorter?: Tensor | null;
};

/** @throws shape-mismatch, dtype-mismatch, invalid-argument */
function check(sequence: Tensor, values: Tensor | ScalarLike, args: SearchArgs): void {
  const { sorter } = args;
  if (args.side != null && args.side !== 'left' && args.side !== 'right')
    refuse('invalid-argument', `side can only be 'left' or 'right' but got ${String(args.side)}`);
  if (args.side === 'left' && args.right === true)
    refuse(
      'invalid-argument',
      "side and right can't be set to opposites, got side of left while right was True",
    );
  if (sequence.ndim === 0)
    refuse(
      'shape-mismatch',
      'boundaries tensor should have positive dimension, but got 0 dimension',
    );
  if (sorter != null) {
    if (!sameNumbers(sorter.sizes, sequence.sizes))
      refuse(
        'shape-mismatch',
        `boundary and sorter must have the same size, but got boundary tensor ${formatSizes(sequence.sizes)} and got sorter tensor ${formatSizes(sorter.sizes)}`,
      );
    if (sorter.dtype !== 'int64')
      refuse(
        'dtype-mismatch',
        `sorter must be a tensor of long dtype but got dtype ${sorter.dtype}`,
      );
  }
  if (!isTensor(values)) {
    if (sequence.ndim !== 1)
      refuse(
        'shape-mismatch',
        'input value can be a scalar only when boundaries tensor dimension is 1',
      );
    return;
  }
  if (values.dtype !== sequence.dtype)
    refuse(
      'dtype-mismatch',
      `boundary tensor and input value tensor should have same dtype, but got boundary tensor dtype ${sequence.dtype} and input value tensor dtype ${values.dtype}`,
    );
  const lead = (t: Tensor): readonly number[] => t.sizes.slice(0, -1);
  if (sequence.ndim > 1 && (values.ndim === 0 || !sameNumbers(lead(sequence), lead(values))))
    refuse(
      'shape-mismatch',
      `boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input value tensor must match, but we got boundaries tensor ${formatSizes(sequence.sizes)} and input value tensor ${formatSizes(values.sizes)}`,
    );
}

function searchMeta(sequence: Sequence): (args: SearchArgs) => TensorMeta {
  return (args) => {
    const sorted = args[sequence]!;
    const values = args.self;
    check(sorted, values, args);
    const sizes = isTensor(values) ? values.sizes : [];
    return denseMeta(sorted, sizes, args.out_int32 === true ? 'int32' : 'int64');
  };
}

function searchKernel(sequence: Sequence): (args: SearchArgs, outs: readonly Tensor[]) => void {
  return (args, [out]) => {
    const sorted = args[sequence]!;
    const { self } = args;
    const right = args.right === true || args.side === 'right';
    const length = sorted.sizes[sorted.ndim - 1]!;
    const read = isTensor(self)
      ? [readElements(sorted), readElements(self)]
      : [readElements(sorted), [held(sorted, scalarValue(self))]];
    let elements = read[0]!;
    const values = read[1]!;
    const perRow = isTensor(self) && sorted.ndim > 1 ? self.sizes[self.ndim - 1]! : values.length;
    const order = args.sorter == null ? null : readNumbers(args.sorter);
    if (order !== null) {
      const positions = order.map(
        (at, i) => i - (i % length) + strictIndex(at, length, 'searchsorted'),
      );
      elements = elements.map((_, i) => elements[positions[i]!]!);
    }
    writeNumbers(out!, insertions(elements, length, values, perRow, right));
  };
}

/** A number takes the floating type of the sequence. */
function held(sorted: Tensor, value: number): number {
  return isFloatingPoint(sorted.dtype) ? roundTo(sorted.dtype, value) : value;
}

type SearchSchema = `${string}(${string}) -> Tensor`;

function define(schema: SearchSchema, sequence: Sequence): OpOverload<Tensor> {
  return defineOp(schema, {
    tags: ['non-differentiable'],
    meta: searchMeta(sequence),
    kernel: searchKernel(sequence),
  });
}

const OPTIONS =
  '*, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor';
const searchTensorOp = define(
  `aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, ${OPTIONS}`,
  'sorted_sequence',
);
const searchScalarOp = define(
  `aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, ${OPTIONS}`,
  'sorted_sequence',
);
const BUCKET_OPTIONS = '*, bool out_int32=False, bool right=False) -> Tensor';
const bucketizeOp = define(
  `aten::bucketize.Tensor(Tensor self, Tensor boundaries, ${BUCKET_OPTIONS}`,
  'boundaries',
);
const bucketizeScalarOp = define(
  `aten::bucketize.Scalar(Scalar self, Tensor boundaries, ${BUCKET_OPTIONS}`,
  'boundaries',
);

/** Options of searches: the result's width, and which side of equal elements. */
export interface BucketOptions {
  readonly outInt32?: boolean;
  readonly right?: boolean;
}
const BUCKET: OptionNames<BucketOptions> = { outInt32: true, right: true };

/** Options of `searchsorted`. */
export interface SearchOptions extends BucketOptions {
  readonly side?: 'left' | 'right' | null;
  /** Indices that sort the sequence, if it is not sorted. */
  readonly sorter?: Tensor | null;
}
const SEARCH: OptionNames<SearchOptions> = {
  side: true,
  sorter: true,
  outInt32: true,
  right: true,
};

/** Both as their common dtype holds them, in which they are compared. */
function comparable(sequence: Tensor, values: Tensor | ScalarLike): [Tensor, Tensor | ScalarLike] {
  if (!isTensor(values) || values.dtype === sequence.dtype) return [sequence, values];
  const dtype = resultType([sequence, values]);
  return [toDtype(sequence, dtype), toDtype(values, dtype)];
}

/** Where values would be inserted to keep each last dimension sorted. @throws shape-mismatch, dtype-mismatch, invalid-argument, index-out-of-range */
export function searchsorted(
  sortedSequence: Tensor,
  values: Tensor | ScalarLike,
  options?: SearchOptions,
): Tensor {
  checkOptionNames('searchsorted', options, SEARCH);
  return callOp(isTensor(values) ? searchTensorOp : searchScalarOp, [
    ...comparable(sortedSequence, values),
    options?.outInt32 ?? false,
    options?.right ?? false,
    options?.side ?? null,
    options?.sorter ?? null,
  ]);
}

/** Number of the bucket between sorted boundaries that each element falls in. @throws shape-mismatch, dtype-mismatch */
export function bucketize(
  self: Tensor | ScalarLike,
  boundaries: Tensor,
  options?: BucketOptions,
): Tensor {
  checkOptionNames('bucketize', options, BUCKET);
  checkTensors('bucketize', { boundaries });
  const [sorted, values] = comparable(boundaries, self);
  return callOp(isTensor(self) ? bucketizeOp : bucketizeScalarOp, [
    values,
    sorted,
    options?.outInt32 ?? false,
    options?.right ?? false,
  ]);
}
