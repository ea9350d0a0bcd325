/**
 * @file Variance and standard deviation, with the mean or without.
 */
import { type ScalarLike, type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { DTYPES } from '../../dtype.js';
import { writeNumbers } from '../../kernels/elements.js';
import { fixedScalar, scalarValue } from '../../kernels/pointwise-kernel.js';
import {
  type ReduceArgs,
  reduceDims,
  reduceMeta,
  reduceRows,
} from '../../kernels/reduce-kernel.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { TensorMeta } from '../../op/op-record.js';
import type { Tensor } from '../../tensor.js';
import { eq } from '../pointwise/comparison.js';
import { maskedFill } from '../pointwise/fill.js';
import { div } from '../pointwise/division.js';
import { add, mul, sub } from '../pointwise/arithmetic.js';
import { abs } from '../pointwise/rounding.js';
import { mean } from './reduction.js';
import { type Dims, dimList, reducedCount, spread } from './spread.js';

interface VarianceArgs extends ReduceArgs {
  readonly dim: readonly number[] | null;
  readonly correction: ScalarLike | null;
}

/** Bessel's correction by default. */
function correctionOf({ correction }: VarianceArgs, read = scalarValue): number {
  return correction === null ? 1 : read(correction);
}

function varianceMeta(name: string, outputs: 1 | 2): (args: VarianceArgs) => readonly TensorMeta[] {
  const rule = reduceMeta(name, (self) => self.dtype);
  return (args) => {
    if (DTYPES[args.self.dtype].category !== 'floating') {
      throw new TesseraError(
        'dtype-unsupported',
        `${name} only support floating point and complex dtypes, not ${args.self.dtype}`,
        { hints: ["Convert first: x.to('float32')."] },
      );
    }
    // The gradient divides by a number made of it.
    correctionOf(args, fixedScalar);
    const meta = rule(args);
    return outputs === 1 ? [meta] : [meta, meta];
  };
}

/** Two passes: the mean, then the squared distances from it. */
function varianceKernel(
  name: string,
  root: boolean,
): (args: VarianceArgs, outs: readonly Tensor[]) => void {
  return (args, outs) => {
    const spreads = new Float64Array(outs[0]!.numel);
    const means = new Float64Array(outs[0]!.numel);
    const correction = correctionOf(args);
    reduceRows(args.self, reduceDims(args, name), (values, i) => {
      let total = 0;
      for (const value of values) total += value;
      const average = total / values.length;
      let squares = 0;
      for (const value of values) squares += (value - average) ** 2;
      const variance = squares / Math.max(0, values.length - correction);
      spreads[i] = root ? Math.sqrt(variance) : variance;
      means[i] = average;
    });
    writeNumbers(outs[0]!, spreads);
    if (outs[1] !== undefined) writeNumbers(outs[1], means);
  };
}

/** @see PyTorch's var_backward: of all elements without degrees of freedom it is infinite, on both sides of the mean. */
function varianceGradient(grad: Tensor, args: VarianceArgs): Tensor {
  const { self, dim } = args;
  const degrees = reducedCount(self.sizes, dim) - correctionOf(args);
  const isInfinite = dim === null && degrees <= 0;
  // A count among the arguments is a size like others; its inverse would be another number for every size.
  const slope = div(mul(spread(grad, self.sizes, dim), 2), isInfinite ? 0 : degrees);
  const distance = sub(self, mean(self, dim, { keepdim: true }));
  return mul(slope, isInfinite ? abs(distance) : distance);
}

function meanGradient(grad: Tensor, { self, dim }: VarianceArgs): Tensor {
  return div(spread(grad, self.sizes, dim), reducedCount(self.sizes, dim));
}

/** std's gradient in terms of var's; 0 where the deviation is 0. */
function rootGradient(grad: Tensor, std: Tensor): Tensor {
  return maskedFill(div(grad, mul(std, 2)), eq(std, 0), 0);
}

const TAIL = 'Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False';

function define(name: 'var' | 'std'): {
  single: OpOverload<Tensor>;
  withMean: OpOverload<[Tensor, Tensor]>;
} {
  const root = name === 'std';
  const toVar = (grad: Tensor, out: Tensor): Tensor => (root ? rootGradient(grad, out) : grad);
  const single = defineOp(`aten::${name}.correction(${TAIL}) -> Tensor`, {
    tags: ['reduction'],
    meta: varianceMeta(name, 1),
    kernel: varianceKernel(name, root),
    saved: root ? ['self', 'out'] : ['self'],
    vjp: (args, { grad, out }) => ({ self: () => varianceGradient(toVar(grad, out), args) }),
  });
  const withMean = defineOp(`aten::${name}_mean.correction(${TAIL}) -> (Tensor, Tensor)`, {
    tags: ['reduction'],
    meta: varianceMeta(`${name}_mean`, 2),
    kernel: varianceKernel(`${name}_mean`, root),
    saved: root ? ['self', 'out.0'] : ['self'],
    vjp: (args, { grads, outs }) => ({
      self: () => {
        const fromSpread =
          grads[0] == null ? null : varianceGradient(toVar(grads[0], outs[0]!), args);
        const fromMean = grads[1] == null ? null : meanGradient(grads[1], args);
        return fromSpread === null
          ? fromMean
          : fromMean === null
            ? fromSpread
            : add(fromSpread, fromMean);
      },
    }),
  });
  const forms: readonly (readonly [op: OpOverload, suffix: string, returns: string])[] = [
    [single, '', 'Tensor'],
    [withMean, '_mean', '(Tensor, Tensor)'],
  ];
  for (const [op, suffix, returns] of forms) {
    defineOp(`aten::${name}${suffix}(Tensor self, bool unbiased=True) -> ${returns}`, {
      decompose: ({ self, unbiased }) => callOp(op, [self, null, unbiased === true ? 1 : 0, false]),
    });
    defineOp(
      `aten::${name}${suffix}.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> ${returns}`,
      {
        decompose: ({ self, dim, unbiased, keepdim }) =>
          callOp(op, [self, dim, unbiased === true ? 1 : 0, keepdim]),
      },
    );
  }
  return { single, withMean };
}

const variances = define('var');
const deviations = define('std');

/** Options of variances: `correction` 1 (default) estimates, 0 describes. */
export interface VarianceOptions {
  readonly correction?: ScalarLike;
  readonly keepdim?: boolean;
}
const VARIANCE: OptionNames<VarianceOptions> = { correction: true, keepdim: true };

function call<Result>(
  op: OpOverload<Result>,
  self: Tensor,
  dim: Dims,
  options: VarianceOptions,
): Result {
  return callOp(op, [self, dimList(dim), options.correction ?? null, options.keepdim ?? false]);
}

/** Variance over dims (all by default). @throws invalid-dim, dtype-unsupported */
export function variance(self: Tensor, dim: Dims = null, options: VarianceOptions = {}): Tensor {
  checkOptionNames('variance', options, VARIANCE);
  return call(variances.single, self, dim, options);
}

// `var` is a reserved word, but may be exported and be a method: x.var().
export {
  /** Variance over dims (all by default). @throws invalid-dim, dtype-unsupported */
  variance as var,
};

/** Variance and mean over dims. @throws invalid-dim, dtype-unsupported */
export function varMean(
  self: Tensor,
  dim: Dims = null,
  options: VarianceOptions = {},
): [variance: Tensor, mean: Tensor] {
  checkOptionNames('varMean', options, VARIANCE);
  return call(variances.withMean, self, dim, options);
}

/** Standard deviation over dims (all by default). @throws invalid-dim, dtype-unsupported */
export function std(self: Tensor, dim: Dims = null, options: VarianceOptions = {}): Tensor {
  checkOptionNames('std', options, VARIANCE);
  return call(deviations.single, self, dim, options);
}

/** Standard deviation and mean over dims. @throws invalid-dim, dtype-unsupported */
export function stdMean(
  self: Tensor,
  dim: Dims = null,
  options: VarianceOptions = {},
): [std: Tensor, mean: Tensor] {
  checkOptionNames('stdMean', options, VARIANCE);
  return call(deviations.withMean, self, dim, options);
}
