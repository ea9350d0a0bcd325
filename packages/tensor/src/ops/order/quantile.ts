/**
 * @file Quantiles: positions in the sorted order, between which values are interpolated.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readNumbers } from '../../kernels/elements.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { formatSizes, numelOf, reducedSizes, wrapDim } from '../../shape.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { isnan } from '../pointwise/comparison.js';
import { toDtype } from '../arrange/copy.js';
import { clampMin } from '../pointwise/extremum.js';
import { scalarTensor } from '../factory/factory.js';
import { fullLike } from '../factory/like.js';
import { maskedFill } from '../pointwise/fill.js';
import { lerp } from '../pointwise/fused-arithmetic.js';
import { logicalNot } from '../pointwise/logical.js';
import { mul, sub } from '../pointwise/arithmetic.js';
import { sum } from '../reduction/reduction.js';
import { any } from '../reduction/logic.js';
import { ceil, floor, round } from '../pointwise/rounding.js';
import { gather } from '../indexing/scatter.js';
import { sort } from './sort.js';
import { expand, reshape } from '../view/view.js';
import { flatten, squeeze, transpose, unsqueeze } from '../view/dims.js';

/** How a quantile between two elements is taken. */
export type Interpolation = 'linear' | 'lower' | 'higher' | 'midpoint' | 'nearest';

const INTERPOLATIONS: readonly string[] = ['linear', 'lower', 'higher', 'midpoint', 'nearest'];

function refuse(
  code: 'invalid-argument' | 'dtype-unsupported' | 'dtype-mismatch' | 'shape-mismatch',
  message: string,
  hint: string,
): never {
  throw new TesseraError(code, message, { hints: [hint] });
}

/** @throws invalid-argument, dtype-unsupported, dtype-mismatch, shape-mismatch */
function check(name: string, self: Tensor, q: Tensor, interpolation: string): void {
  if (numelOf(self.sizes) === 0)
    refuse('shape-mismatch', `${name}() input tensor must be non-empty`, 'Give elements.');
  if (q.ndim > 1)
    refuse(
      'shape-mismatch',
      `${name}() q must be a scalar or 1D tensor, but has sizes ${formatSizes(q.sizes)}`,
      'Flatten q.',
    );
  if (self.dtype !== 'float32' && self.dtype !== 'float64')
    refuse(
      'dtype-unsupported',
      `${name}() input tensor must be either float or double dtype, not ${self.dtype}`,
      "Convert first: x.to('float32').",
    );
  if (q.dtype !== self.dtype)
    refuse(
      'dtype-mismatch',
      `${name}() q tensor must be same dtype as the input tensor, got ${q.dtype} and ${self.dtype}`,
      `Convert it: q.to('${self.dtype}').`,
    );
  if (!INTERPOLATIONS.includes(interpolation))
    refuse(
      'invalid-argument',
      `${name}() interpolation must be one of ${INTERPOLATIONS.join(', ')}, but got ${interpolation}`,
      "The default is 'linear'.",
    );
  checkRange(name, q);
}

/** Values are looked at where they are at hand: not those of a tracer's or another device's tensors. */
function checkRange(name: string, q: Tensor): void {
  if (q.pending !== null || q.isFake || q.device !== 'cpu') return;
  if (readNumbers(q).every(isShare)) return;
  refuse('invalid-argument', `${name}() q values must be in the range [0, 1]`, SHARES);
}

const isShare = (value: number): boolean => value >= 0 && value <= 1;
const SHARES = '0.5 is the median.';

/** Positions in the sorted rows, fractional. Rows with NaN have it as every quantile, unless it is skipped. */
function ranks(sorted: Tensor, q: Tensor, skipNan: boolean): Tensor {
  const nan = isnan(sorted);
  if (skipNan) {
    const known = sum(logicalNot(nan), -1, { keepdim: true });
    return clampMin(mul(q, sub(known, 1)), 0);
  }
  const last = sorted.sizes[sorted.ndim - 1]! - 1;
  const blocked = any(nan, -1, { keepdim: true });
  const place = mul(q, last);
  const shape = [...blocked.sizes.slice(0, -1), q.ndim === 0 ? 1 : q.sizes[0]!];
  return maskedFill(expand(place, shape), blocked, last);
}

interface QuantileArgs {
  readonly self: Tensor;
  readonly q: Tensor | number;
  readonly dim: number | null;
  readonly keepdim: boolean;
  readonly interpolation: string;
}

function compute(name: string, skipNan: boolean): (args: QuantileArgs) => Tensor {
  return ({ self: x, q, dim, keepdim, interpolation }) => {
    if (!isTensor(q) && !isShare(q))
      refuse(
        'invalid-argument',
        `quantile() q must be in the range [0, 1] but got ${Number(q.toPrecision(6))}`,
        SHARES,
      );
    const shares = isTensor(q) ? q : scalarTensor(q, { dtype: x.dtype, device: x.device });
    const at = wrapDim(dim ?? 0, x.ndim, name);
    check(name, x, shares, interpolation);
    const over = dim === null ? x.sizes.map((_, d) => d) : x.ndim === 0 ? [] : [at];
    const kept = reducedSizes(x.sizes, over, keepdim);
    const [rows] = sort(
      dim === null ? flatten(x) : at === x.ndim - 1 ? x : transpose(unsqueeze(x, -1), at, -1),
    );
    const sorted = reshape(rows, [...kept, rows.sizes[rows.ndim - 1]!]);
    const values = pick(sorted, ranks(sorted, shares, skipNan), interpolation);
    return shares.ndim === 0
      ? squeeze(values, -1)
      : squeeze(transpose(unsqueeze(values, 0), 0, -1), -1);
  };
}

/** The elements at fractional positions. */
function pick(sorted: Tensor, rank: Tensor, interpolation: string): Tensor {
  const exact =
    interpolation === 'lower'
      ? floor(rank)
      : interpolation === 'higher'
        ? ceil(rank)
        : interpolation === 'nearest'
          ? round(rank)
          : rank;
  const below = toDtype(exact, 'int64');
  const low = gather(sorted, -1, below);
  if (interpolation !== 'linear' && interpolation !== 'midpoint') return low;
  const weight = interpolation === 'midpoint' ? fullLike(rank, 0.5) : sub(rank, below);
  return lerp(low, gather(sorted, -1, toDtype(ceil(rank), 'int64')), weight);
}

interface Quantile {
  readonly many: OpOverload<Tensor>;
  readonly one: OpOverload<Tensor>;
}

function define(name: 'quantile' | 'nanquantile'): Quantile {
  const decompose = compute(name, name === 'nanquantile');
  const tail = 'int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor';
  return {
    many: defineOp(`aten::${name}(Tensor self, Tensor q, ${tail}`, { decompose }),
    one: defineOp(`aten::${name}.scalar(Tensor self, float q, ${tail}`, { decompose }),
  };
}

const quantileOps = define('quantile');
const nanquantileOps = define('nanquantile');

/** Options of quantiles: `dim` null takes all elements. */
export interface QuantileOptions {
  readonly dim?: number | null;
  readonly keepdim?: boolean;
  readonly interpolation?: Interpolation;
}
const QUANTILE: OptionNames<QuantileOptions> = { dim: true, keepdim: true, interpolation: true };

function call(ops: Quantile, self: Tensor, q: Tensor | number, options: QuantileOptions): Tensor {
  return callOp(isTensor(q) ? ops.many : ops.one, [
    self,
    q,
    options.dim ?? null,
    options.keepdim ?? false,
    options.interpolation ?? 'linear',
  ]);
}

/** The values below which shares `q` of the elements lie: q [K] gives [K, …]. @throws invalid-argument, dtype-unsupported, shape-mismatch */
export function quantile(self: Tensor, q: Tensor | number, options: QuantileOptions = {}): Tensor {
  checkOptionNames('quantile', options, QUANTILE);
  return call(quantileOps, self, q, options);
}

/** Quantiles of the elements that are not NaN. @throws invalid-argument, dtype-unsupported, shape-mismatch */
export function nanquantile(
  self: Tensor,
  q: Tensor | number,
  options: QuantileOptions = {},
): Tensor {
  checkOptionNames('nanquantile', options, QUANTILE);
  return call(nanquantileOps, self, q, options);
}
