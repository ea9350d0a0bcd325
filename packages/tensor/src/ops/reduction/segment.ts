/**
 * @file Reductions of consecutive segments of a dimension, made of a search for each position's segment and a scatter, so
 * that they run wherever those do.
 */
import { type OptionNames, type ScalarLike, TesseraError, checkOptionNames } from '@tessera/shared';
import { activeMode } from '../../dispatch/modes.js';
import { DTYPES, isFloatingPoint } from '../../dtype.js';
import { sameNumbers, wrapDim } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { toDtype } from '../arrange/copy.js';
import { cat } from '../arrange/join.js';
import { full } from '../factory/factory.js';
import { arange } from '../factory/range.js';
import { scatterReduce } from '../indexing/scatter-reduce.js';
import { searchsorted } from '../order/search-sorted.js';
import { add, mul } from '../pointwise/arithmetic.js';
import { eq, ge, le } from '../pointwise/comparison.js';
import { div } from '../pointwise/division.js';
import { where } from '../pointwise/where.js';
import { diff } from '../scan/diff.js';
import { cumsum } from '../scan/scan.js';
import { narrow } from '../view/slice.js';
import { expand, view } from '../view/view.js';
import { checkTensors } from '../../check-tensors.js';

/** How the elements of a segment are combined. */
export type SegmentReduction = 'sum' | 'mean' | 'max' | 'min' | 'prod';

/** Options of `segmentReduce`, of which `lengths` or `offsets` is given. */
export interface SegmentOptions {
  /** [..., S], the lengths of the segments: integers whose sum along the last dimension is the size at `axis`. */
  readonly lengths?: Tensor;
  /** [..., S + 1], where segments begin, and where the last one ends. */
  readonly offsets?: Tensor;
  /** The dimension of the segments (default 0): the last one of lengths or offsets. */
  readonly axis?: number;
  /** Whether the lengths are taken as they are (default false): the check reads them, in eager code on the CPU. */
  readonly unsafe?: boolean;
  /** What each segment starts with, also an empty one. */
  readonly initial?: ScalarLike | null;
}
const OPTIONS: OptionNames<SegmentOptions> = {
  lengths: true,
  offsets: true,
  axis: true,
  unsafe: true,
  initial: true,
};

/** What scatters call the reduction, and what an empty segment has. */
const REDUCTIONS = {
  sum: { by: 'sum', empty: 0 },
  mean: { by: 'sum', empty: 0 },
  max: { by: 'amax', empty: -Infinity },
  min: { by: 'amin', empty: Infinity },
  prod: { by: 'prod', empty: 1 },
} as const;

function refuse(
  code: 'invalid-argument' | 'shape-mismatch' | 'dtype-unsupported',
  text: string,
): never {
  throw new TesseraError(code, text, {
    hints: ["Write segmentReduce(x, 'max', { lengths: tensor([2, 3], { dtype: 'int64' }) })."],
  });
}

/** @throws invalid-argument, shape-mismatch, dtype-unsupported */
function checkSegments(data: Tensor, reduce: string, given: Tensor, axis: number): void {
  if (!(reduce in REDUCTIONS))
    refuse(
      'invalid-argument',
      `reduce argument must be either sum, prod, mean, amax or amin, got ${reduce}`,
    );
  const name = (x: Tensor): string => DTYPES[x.dtype].scalarTypeName;
  if (!isFloatingPoint(data.dtype))
    refuse('dtype-unsupported', `"_segment_reduce_cpu" not implemented for '${name(data)}'`);
  if (given.dtype !== 'int64' && given.dtype !== 'int32')
    refuse(
      'dtype-unsupported',
      `"_segment_reduce_lengths_cpu_kernel1" not implemented for '${name(given)}'`,
    );
  if (given.ndim - 1 !== axis)
    refuse(
      'shape-mismatch',
      `segment_reduce(): Expected axis to be the last dimension of lengths but got ${axis}.`,
    );
  if (!sameNumbers(given.sizes.slice(0, -1), data.sizes.slice(0, axis)))
    refuse(
      'shape-mismatch',
      'segment_reduce(): Expected data and lengths to have the same sizes before axis.',
    );
}

/** Reads lengths, where values are there to be read. @throws invalid-argument */
function checkLengths(lengths: Tensor, size: number): void {
  if (activeMode([lengths]) !== null || lengths.device !== 'cpu' || lengths.isFake) return;
  if (lengths.lt(0).any().item()) refuse('invalid-argument', 'lengths contains negative value!');
  if (!lengths.sum(-1).eq(size).all().item())
    refuse(
      'invalid-argument',
      'segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe.',
    );
}

/**
 * Each segment of a dimension reduced to one element: [..., N, ...] → [..., S, ...]. Empty segments have the initial
 * value, else 0, 1, -∞, ∞, or NaN of `mean`. Elements that share an extreme share its gradient.
 *
 * @throws invalid-argument, shape-mismatch, dtype-unsupported
 * @see torch.segment_reduce
 */
export function segmentReduce(
  data: Tensor,
  reduce: SegmentReduction,
  options: SegmentOptions = {},
): Tensor {
  checkOptionNames('segmentReduce', options, OPTIONS);
  checkTensors('segmentReduce', { data });
  const { lengths, offsets, unsafe = false, initial = null } = options;
  const axis = wrapDim(options.axis ?? 0, data.ndim);
  const given = lengths ?? offsets;
  if (given === undefined)
    refuse('invalid-argument', 'segment_reduce(): Either lengths or offsets must be defined.');
  checkSegments(data, reduce, given, axis);
  const size = data.sizes[axis]!;
  if (lengths !== undefined && !unsafe) checkLengths(lengths, size);

  const lead = data.sizes.slice(0, axis);
  const rest = data.sizes.slice(axis + 1);
  const integers = { dtype: 'int64', device: data.device } as const;
  const whole = toDtype(given, 'int64');
  const bounds =
    lengths === undefined ? whole : cat([full([...lead, 1], 0, integers), cumsum(whole, -1)], -1);
  const count = bounds.sizes.at(-1)! - 1;
  // Segment s is place s + 1; what lies before the first and behind the last goes to places that are cut off.
  const positions = expand(arange(size, integers), [...lead, size]);
  const places = searchsorted(bounds, positions.contiguous(), { right: true });
  const ones = rest.map(() => 1);
  const index = expand(view(places, [...lead, size, ...ones]), data.sizes);
  const { by, empty } = REDUCTIONS[reduce];
  const start = full([...lead, count + 2, ...rest], empty, {
    dtype: data.dtype,
    device: data.device,
  });
  const all = scatterReduce(start, axis, index, data, by, { includeSelf: false });
  const found = narrow(all, axis, 1, count);
  if (reduce === 'max' || reduce === 'min') {
    if (initial === null) return found;
    const isFound = reduce === 'max' ? ge(found, initial) : le(found, initial);
    // NaN stays.
    return where(isFound.logicalOr(found.ne(found)), found, initial);
  }
  if (reduce === 'prod') return initial === null ? found : mul(found, initial);
  const total = initial === null ? found : add(found, initial);
  if (reduce === 'sum') return total;
  const sizes = view(lengths ?? diff(bounds), [...lead, count, ...ones]);
  const mean = div(total, toDtype(sizes, data.dtype));
  return initial === null ? mean : where(eq(sizes, 0), total, mean);
}
