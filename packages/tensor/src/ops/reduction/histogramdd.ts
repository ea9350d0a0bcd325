/**
 * @file Counting points in the cells of a grid.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { type DType, DTYPES } from '../../dtype.js';
import { readNumbers, writeNumbers } from '../../kernels/elements.js';
import { firstAbove } from '../../kernels/first-above.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { contiguousStrides, formatSizes, numelOf, sameNumbers } from '../../shape.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { checkTensors } from '../../check-tensors.js';
import { contiguous, toDtype } from '../arrange/copy.js';
import { ones, zeros } from '../factory/factory.js';
import { linspace } from '../factory/space.js';
import { quietly } from '../fft/quietly.js';
import { indexAdd } from '../indexing/select.js';
import { searchsorted } from '../order/search-sorted.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';
import { eq, ge, le } from '../pointwise/comparison.js';
import { div } from '../pointwise/division.js';
import { clamp } from '../pointwise/extremum.js';
import { logicalAnd } from '../pointwise/logical.js';
import { where } from '../pointwise/where.js';
import { diff } from '../scan/diff.js';
import { narrow, select } from '../view/slice.js';
import { reshape } from '../view/view.js';
import { amax, amin } from './extremum.js';
import { sum } from './reduction.js';

const NAME = 'torch.histogramdd';

/** @throws invalid-argument */
function refuse(message: string, hint: string): never {
  throw new TesseraError('invalid-argument', message, { hints: [hint] });
}

/** C++'s names of the dtypes that there are histograms of. */
const typeName = (dtype: DType): string =>
  dtype === 'float32' ? 'float' : dtype === 'float64' ? 'double' : dtype;

/** Number of coordinates of the points. @throws invalid-argument, dtype-unsupported, dtype-mismatch, shape-mismatch */
function checkPoints(self: Tensor, weight: Tensor | null): number {
  if (self.ndim < 2)
    refuse(`${NAME}: input tensor should have at least 2 dimensions`, 'Points are rows, [.., D].');
  if (weight !== null && weight.dtype !== self.dtype)
    throw new TesseraError(
      'dtype-mismatch',
      `${NAME}: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got input(${typeName(self.dtype)}), and weight(${typeName(weight.dtype)})`,
      { hints: ['Convert one of them: weight.to(x.dtype).'] },
    );
  if (weight !== null && !sameNumbers(weight.sizes, self.sizes.slice(0, -1)))
    throw new TesseraError(
      'shape-mismatch',
      `${NAME}: if weight tensor is provided it should have the same shape as the input tensor excluding its innermost dimension, but got input with shape ${formatSizes(self.sizes)} and weight with shape ${formatSizes(weight.sizes)}`,
      { hints: ['One weight for each point.'] },
    );
  if (self.dtype !== 'float32' && self.dtype !== 'float64')
    throw new TesseraError(
      'dtype-unsupported',
      `"histogramdd" not implemented for '${DTYPES[self.dtype].scalarTypeName}'`,
      { hints: ["Convert first: x.to('float32')."] },
    );
  return self.sizes.at(-1)!;
}

/** @throws invalid-argument */
function checkCounts(counts: readonly number[]): void {
  counts.forEach((count, d) => {
    if (!(count > 0))
      refuse(
        `torch.histogram(): bins must be > 0, but got ${count} for dimension ${d}`,
        'Ask for at least one bin.',
      );
  });
}

/** The ends of the outer bins of a dimension. @throws invalid-argument */
function endsOf(values: readonly number[], d: number, range: readonly number[] | null) {
  let [low, high] =
    range !== null
      ? [range[2 * d]!, range[2 * d + 1]!]
      : values.length === 0
        ? [0, 1]
        : values.reduce(
            ([least, most], value) => [Math.min(least!, value), Math.max(most!, value)],
            [Infinity, -Infinity],
          );
  if (!Number.isFinite(low) || !Number.isFinite(high)) {
    const text = (value: number): string =>
      String(value).replace('NaN', 'nan').replace('Infinity', 'inf');
    refuse(
      `${NAME}: dimension ${d}'s range [${text(low!)}, ${text(high!)}] is not finite`,
      'Give the range: [low, high, low, high, …].',
    );
  }
  if (low! > high!)
    refuse(
      `${NAME}: min should not exceed max, but got min ${low} max ${high} for dimension ${d}`,
      'Swap the ends of the range.',
    );
  if (low === high) [low, high] = [low! - 0.5, high! + 0.5];
  return [low!, high!] as const;
}

/** `endsOf` without reading values: where those are not finite, so are the ends. */
function columnEnds(
  self: Tensor,
  d: number,
  range: readonly number[] | null,
): readonly [low: number | Tensor, high: number | Tensor] {
  if (range !== null || self.numel === 0) return endsOf([], d, range);
  const column = select(self, -1, d);
  const [low, high] = [amin(column), amax(column)];
  const half = mul(toDtype(eq(low, high), self.dtype), 0.5);
  return [sub(low, half), add(high, half)];
}

/** The cells' counts on devices that are not read at once: `countOp` made of other operators. */
function countPoints(
  self: Tensor,
  bins: readonly Tensor[],
  weight: Tensor | null,
  isDensity: boolean,
): Tensor {
  const { dtype, device } = self;
  const sizes = bins.map((edges) => edges.numel - 1);
  const cells = numelOf(sizes);
  const points = reshape(self, [-1, bins.length]);
  let cell: Tensor | null = null;
  let isInside: Tensor | null = null;
  bins.forEach((edges, d) => {
    const x = contiguous(select(points, 1, d));
    const within = logicalAnd(ge(x, select(edges, 0, 0)), le(x, select(edges, 0, -1)));
    const place = sub(searchsorted(edges, x, { right: true }), 1);
    const bin = clamp(place, null, sizes[d]! - 1);
    cell = cell === null ? bin : add(mul(cell, sizes[d]!), bin);
    isInside = isInside === null ? within : logicalAnd(isInside, within);
  });
  // Points in no cell are counted behind the cells.
  const places = where(isInside!, cell!, cells);
  const shares =
    weight === null ? ones(places.sizes, { dtype, device }) : reshape(weight, places.sizes);
  const all = indexAdd(zeros([cells + 1], { dtype, device }), 0, places, shares);
  const counts = reshape(narrow(all, 0, 0, cells), sizes);
  if (!isDensity) return contiguous(counts);
  return bins.reduce(
    (density, edges, d) =>
      div(density, reshape(diff(edges), [-1, ...Array<number>(sizes.length - 1 - d).fill(1)])),
    div(counts, sum(counts)),
  );
}

const edgesOp: OpOverload<Tensor[]> = defineOp(
  'aten::_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, Tensor? weight=None, bool density=False) -> Tensor[]',
  {
    tags: ['non-differentiable'],
    meta: ({ self, bins, range, weight }) => {
      const n = checkPoints(self, weight);
      if (bins.length !== n)
        refuse(
          'histogramdd: The size of bins must be equal to the innermost dimension of the input.',
          'Give a number of bins for each coordinate.',
        );
      if (range !== null && range.length !== 2 * n)
        refuse(
          `${NAME}: for a ${n}-dimensional histogram range should have ${2 * n} elements, but got ${range.length}`,
          'Give the range: [low, high, low, high, …].',
        );
      checkCounts(bins);
      const { dtype, device } = self;
      return bins.map((count) => ({ sizes: [count + 1], strides: [1], dtype, device }));
    },
    expand: ({ self, bins, range }): Tensor[] | null => {
      const { device } = self;
      if (device === 'cpu') return null;
      const edges = (count: number, d: number): Tensor => {
        const [low, high] = columnEnds(self, d, range);
        return linspace(low, high, count + 1, { device });
      };
      return quietly(() => bins.map(edges));
    },
    kernel: ({ self, bins, range }, outs) => {
      const values = readNumbers(self);
      bins.forEach((count, d) => {
        const column = Array.from(
          { length: values.length / bins.length },
          (_, i) => values[i * bins.length + d]!,
        );
        const [low, high] = endsOf(column, d, range);
        const step = (high - low) / count;
        // From both ends, as linspace.
        const edges = Array.from({ length: count + 1 }, (_, i) =>
          2 * i < count + 1 ? low + step * i : high - step * (count - i),
        );
        writeNumbers(outs[d]!, edges);
      });
    },
  },
);

/** The bin between ascending edges that holds a value, the last one with its upper end; -1 if none does. */
function binOf(edges: Float64Array, value: number): number {
  const isInside = value >= edges[0]! && value <= edges.at(-1)!;
  return isInside ? firstAbove(edges, value) - 1 : -1;
}

const countOp: OpOverload<Tensor> = defineOp(
  'aten::_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, Tensor? weight=None, bool density=False) -> Tensor',
  {
    tags: ['non-differentiable'],
    meta: ({ self, bins, weight }) => {
      const n = checkPoints(self, weight);
      if (bins.length !== n)
        refuse(
          `${NAME}: expected ${n} sequences of bin edges for a ${n}-dimensional histogram but got ${bins.length}`,
          'Give the edges of each coordinate.',
        );
      bins.forEach((edges, d) => {
        if (edges.dtype !== self.dtype)
          throw new TesseraError(
            'dtype-mismatch',
            `${NAME}: input tensor and bins tensors should have the same dtype, but got input with dtype ${typeName(self.dtype)} and bins for dimension ${d} with dtype ${typeName(edges.dtype)}`,
            { hints: ['Convert one of them: bins.to(x.dtype).'] },
          );
        if (edges.ndim !== 1)
          refuse(
            `${NAME}: bins tensor should have one dimension, but got ${edges.ndim} dimensions in the bins tensor for dimension ${d}`,
            'n + 1 edges make n bins.',
          );
        if (edges.numel === 0)
          refuse(
            `${NAME}: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for dimension ${d}`,
            'n + 1 edges make n bins.',
          );
      });
      const sizes = bins.map((edges) => edges.numel - 1);
      checkCounts(sizes);
      const { dtype, device } = self;
      return { sizes, strides: contiguousStrides(sizes), dtype, device };
    },
    expand: ({ self, bins, weight, density }) =>
      self.device === 'cpu' ? null : quietly(() => countPoints(self, bins, weight, density)),
    kernel: ({ self, bins, weight, density }, [out]) => {
      const { sizes } = out!;
      const n = sizes.length;
      const points = readNumbers(self);
      const weights = weight === null ? null : readNumbers(weight);
      const edges = bins.map((each) => readNumbers(each));
      const counts = new Float64Array(numelOf(sizes));
      for (let i = 0; n > 0 && i < points.length / n; i++) {
        let cell = 0;
        for (let d = 0; d < n && cell >= 0; d++) {
          const bin = binOf(edges[d]!, points[i * n + d]!);
          cell = bin < 0 ? -1 : cell * sizes[d]! + bin;
        }
        if (cell >= 0) counts[cell]! += weights === null ? 1 : weights[i]!;
      }
      if (density) {
        const total = counts.reduce((a, b) => a + b, 0);
        counts.forEach((count, cell) => {
          let [volume, rest] = [total, cell];
          for (let d = n - 1; d >= 0; d--) {
            const bin = rest % sizes[d]!;
            volume *= edges[d]![bin + 1]! - edges[d]![bin]!;
            rest = (rest - bin) / sizes[d]!;
          }
          counts[cell] = count / volume;
        });
      }
      writeNumbers(out!, counts);
    },
  },
);

/** Options of `histogramdd`. */
export interface HistogramddOptions {
  /** The ends of equally wide bins, [low, high, low, high, …]; those of the points if left out. */
  readonly range?: readonly number[] | null;
  /** What each point counts, in the shape of self without its last dimension. */
  readonly weight?: Tensor | null;
  /** Whether counts are divided so that their integral over the cells is 1. */
  readonly density?: boolean;
}
const HISTOGRAMDD: OptionNames<HistogramddOptions> = { range: true, weight: true, density: true };

/**
 * Counts of points, the rows of [.., D], in the cells of a grid, and the edges of its bins: numbers of equal bins, one
 * for all coordinates or one for each, or ascending edges of each.
 *
 * @throws invalid-argument, dtype-unsupported, dtype-mismatch, shape-mismatch
 * @example const [counts, [xs, ys]] = histogramdd(points, [10, 20]); // counts: [10, 20]
 * @see torch.histogramdd
 */
export function histogramdd(
  self: Tensor,
  bins: number | readonly number[] | readonly Tensor[],
  options: HistogramddOptions = {},
): [hist: Tensor, binEdges: Tensor[]] {
  checkOptionNames('histogramdd', options, HISTOGRAMDD);
  checkTensors('histogramdd', { self });
  const { range = null, weight = null, density = false } = options;
  const given =
    typeof bins === 'number'
      ? self.sizes.slice(-1).flatMap((n) => Array<number>(n).fill(bins))
      : bins;
  if (!Array.isArray(given))
    refuse(
      'bins must be a number, or a list of numbers or tensors.',
      'Write histogramdd(x, [2, 3]).',
    );
  const edges = given.some(isTensor)
    ? (given as readonly Tensor[])
    : callOp(edgesOp, [self, given, range, weight, density]);
  return [callOp(countOp, [self, edges, weight, density]), [...edges]];
}
