/**
 * @file Counting elements: by bins of equal or given width, and integers one by one.
 */
import { type ScalarLike, type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import type { DType } from '../../dtype.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { firstAbove } from '../../kernels/first-above.js';
import { scalarValue } from '../../kernels/pointwise-kernel.js';
import { checkFloating } from '../../kernels/restrict-dtypes.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { OpRecord, TensorMeta } from '../../op/op-record.js';
import { formatSizes, sameNumbers } from '../../shape.js';
import { emptyFromMeta, isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import {
  type BincountOptions,
  BINCOUNT,
  checkBincount,
  refuseCounted,
} from './bincount-options.js';

/** @throws invalid-argument */
function refuse(message: string, hint: string): never {
  throw new TesseraError('invalid-argument', message, { hints: [hint] });
}

/** Meta of a row. */
function rowMeta(length: number, like: Tensor, dtype: DType = like.dtype): TensorMeta {
  return { sizes: [length], strides: [1], dtype, device: like.device };
}

/** @throws invalid-argument */
function checkBins(bins: number): number {
  if (bins > 0) return bins;
  return refuse(
    `torch.histogram(): bins must be > 0, but got ${bins} for dimension 0`,
    'Ask for at least one bin.',
  );
}

/** The ends of the outer bins: those given unless they are equal, else the least and largest element. */
function outerEdges(
  name: string,
  values: Float64Array,
  low: number,
  high: number,
): [low: number, high: number] {
  let [from, to] = [low, high];
  if (from === to && values.length > 0) {
    [from, to] = [Infinity, -Infinity];
    for (const value of values) {
      from = Math.min(from, value);
      to = Math.max(to, value);
    }
  }
  if (from === to) [from, to] = [from - 0.5, to + 0.5];
  if (!Number.isFinite(from) || !Number.isFinite(to))
    refuse(`${name}: range of [${from}, ${to}] is not finite`, 'Give the range: min and max.');
  if (from > to) refuse(`${name}: max must be larger than min`, 'Swap the ends of the range.');
  return [from, to];
}

/** How numbers of a tensor are computed with: those of 16 bits in float32. */
const roundingOf = ({ dtype }: Tensor): ((value: number) => number) =>
  dtype === 'float64' ? Number : Math.fround;

/** Adds weights into bins; `placeOf` tells the bin of a value that lies between the outer edges. */
function fillBins(
  values: Float64Array,
  weights: Float64Array | null,
  count: number,
  low: number,
  high: number,
  placeOf: (value: number) => number,
): Float64Array {
  const counts = new Float64Array(count);
  values.forEach((value, i) => {
    if (value >= low && value <= high) counts[placeOf(value)]! += weights?.[i] ?? 1;
  });
  return counts;
}

const histcOp = defineOp(
  'aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor',
  {
    tags: ['non-differentiable'],
    meta: ({ self, bins }) => {
      checkFloating('histogram_cpu', self);
      return rowMeta(checkBins(bins), self);
    },
    kernel: ({ self, bins, min, max }, [out]) => {
      const values = readNumbers(self);
      const round = roundingOf(self);
      const [low, high] = [round(scalarValue(min)), round(scalarValue(max))];
      const [from, to] = outerEdges('torch.histc', values, low, high);
      // Every step is rounded, which decides at the ends of bins. The last one holds its upper end.
      const placeOf = (value: number): number =>
        Math.min(Math.floor(round(round(round(value - from) / round(to - from)) * bins)), bins - 1);
      writeNumbers(out!, fillBins(values, null, bins, from, to, placeOf));
    },
  },
);

/** Counts (or weights) per bin, divided by their total and the bins' widths if a density is asked for. */
interface HistogramArgs {
  readonly self: Tensor;
  readonly weight: Tensor | null;
  readonly density: boolean;
}

function histogramRecord<Args extends HistogramArgs>(
  edgesOf: (args: Args, values: Float64Array) => Float64Array,
  countOf: (args: Args) => number,
): OpRecord<Args, [Tensor, Tensor]> {
  return {
    tags: ['non-differentiable'],
    meta: (args) => {
      const self = args.self;
      checkFloating('histogramdd', self);
      const weight = args.weight;
      if (weight !== null && weight.dtype !== self.dtype)
        throw new TesseraError(
          'dtype-mismatch',
          `torch.histogramdd: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got input(${self.dtype}), and weight(${weight.dtype})`,
          { hints: ['Convert the weight.'] },
        );
      if (weight !== null && !sameNumbers(weight.sizes, self.sizes))
        throw new TesseraError(
          'shape-mismatch',
          `torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor, but got input ${formatSizes(self.sizes)} and weight ${formatSizes(weight.sizes)}`,
          { hints: ['One weight for each element.'] },
        );
      const count = countOf(args);
      return [rowMeta(count, self), rowMeta(count + 1, self)];
    },
    kernel: (args, [hist, edgesOut]) => {
      const values = readNumbers(args.self);
      const weights = args.weight === null ? null : readNumbers(args.weight);
      const edges = edgesOf(args, values);
      const count = edges.length - 1;
      const counts = fillBins(
        values,
        weights,
        count,
        edges[0]!,
        edges[count]!,
        (x) => firstAbove(edges, x) - 1,
      );
      if (args.density === true) {
        const total = counts.reduce((a, b) => a + b, 0);
        counts.forEach((each, i) => (counts[i] = each / total / (edges[i + 1]! - edges[i]!)));
      }
      writeNumbers(hist!, counts);
      writeNumbers(edgesOut!, edges);
    },
  };
}

const histogramOp: OpOverload<[Tensor, Tensor]> = defineOp(
  'aten::histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)',
  histogramRecord(
    ({ self, bins, range }, values) => {
      const [low, high] = range ?? [0, values.length === 0 ? 1 : 0];
      const [from, to] = outerEdges('torch.histogram', values, low, high);
      const round = roundingOf(self);
      const step = round(round(to - from) / bins);
      // From both ends, as linspace.
      return Float64Array.from({ length: bins + 1 }, (_, i) =>
        round(i < (bins + 1) >> 1 ? from + round(step * i) : to - round(step * (bins - i))),
      );
    },
    ({ bins }) => checkBins(bins),
  ),
);
const histogramEdgesOp: OpOverload<[Tensor, Tensor]> = defineOp(
  'aten::histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)',
  histogramRecord(
    ({ bins }) => readNumbers(bins),
    ({ self, bins }) => {
      const edges = bins;
      if (edges.ndim !== 1 || edges.numel < 2)
        refuse(
          `torch.histogramdd: bins tensor should have one dimension of at least 2 edges, but got ${formatSizes(edges.sizes)}`,
          'n + 1 edges make n bins.',
        );
      if (edges.dtype !== self.dtype)
        throw new TesseraError(
          'dtype-mismatch',
          `torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype ${self.dtype} and bins for dimension 0 with dtype ${edges.dtype}`,
          { hints: ['Convert one of them: bins.to(x.dtype).'] },
        );
      return edges.numel - 1;
    },
  ),
);

const bincountOp = defineOp(
  'aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor',
  {
    tags: ['data-dependent', 'non-differentiable'],
    awaited: 'bincountAsync(x)',
    produce: ({ self: x, weights: w, minlength }) => {
      checkBincount(x, w, minlength);
      const values = readNumbers(x);
      let length = minlength;
      for (const value of values) {
        if (value < 0) refuseCounted();
        length = Math.max(length, value + 1);
      }
      const shares = w === null ? null : readNumbers(w);
      const counts = new Float64Array(length);
      values.forEach((value, i) => (counts[value]! += shares?.[i] ?? 1));
      const dtype = w === null ? 'int64' : w.dtype === 'float32' ? 'float32' : 'float64';
      const out = emptyFromMeta(rowMeta(length, x, dtype));
      writeNumbers(out, counts);
      return out;
    },
  },
);

/** Options of `histc`. */
export interface HistcOptions {
  /** Number of bins (default 100). */
  readonly bins?: number;
  /** Lower end of the first bin; the least element if it equals `max`. */
  readonly min?: ScalarLike;
  /** Upper end of the last bin; the largest element if it equals `min`. */
  readonly max?: ScalarLike;
}
const HISTC: OptionNames<HistcOptions> = { bins: true, min: true, max: true };

/** How many elements lie in each of `bins` equally wide bins from min to max. @throws invalid-argument, dtype-unsupported */
export function histc(self: Tensor, options: HistcOptions = {}): Tensor {
  checkOptionNames('histc', options, HISTC);
  const { bins = 100, min = 0, max = 0 } = options;
  return callOp(histcOp, [self, bins, min, max]);
}

/** Options of `histogram`. */
export interface HistogramOptions {
  /** Ends of equally wide bins; the least and largest element if left out. */
  readonly range?: readonly [low: number, high: number] | null;
  /** What each element counts, in the shape of self. */
  readonly weight?: Tensor | null;
  /** Whether counts are divided so that their integral over the bins is 1. */
  readonly density?: boolean;
}
const HISTOGRAM: OptionNames<HistogramOptions> = { range: true, weight: true, density: true };

/** Counts per bin and the edges of the bins: a number of equal ones, or those between given ascending edges. @throws invalid-argument, dtype-unsupported, dtype-mismatch, shape-mismatch */
export function histogram(
  self: Tensor,
  bins: number | Tensor = 100,
  options: HistogramOptions = {},
): [hist: Tensor, binEdges: Tensor] {
  checkOptionNames('histogram', options, HISTOGRAM);
  const { range = null, weight = null, density = false } = options;
  return isTensor(bins)
    ? callOp(histogramEdgesOp, [self, bins, weight, density])
    : callOp(histogramOp, [self, bins, range, weight, density]);
}

/** How often 0, 1, 2, … occur in integers [N]: int64, or sums of their weights. A graph break in compiled functions. @throws invalid-argument, dtype-unsupported, shape-mismatch */
export function bincount(self: Tensor, options?: BincountOptions): Tensor {
  checkOptionNames('bincount', options, BINCOUNT);
  return callOp(bincountOp, [self, options?.weights ?? null, options?.minlength ?? 0]);
}
