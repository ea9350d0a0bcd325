/**
 * @file Sums, means and products.
 */
import { TesseraError, checkOptionNames } from '@tessera/shared';
import { isGradEnabled } from '../../autograd/grad-mode.js';
import { callOp } from '../../dispatch/dispatcher.js';
import { type DType, isFloatingPoint, opmathType } from '../../dtype.js';
import { type Elements, roundingTo } from '../../kernels/elements.js';
import { exactIn } from '../../kernels/integer-arithmetic.js';
import { type ReduceArgs, reduceKernel, reduceMeta } from '../../kernels/reduce-kernel.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import type { Tensor } from '../../tensor.js';
import { eq } from '../pointwise/comparison.js';
import { div } from '../pointwise/division.js';
import { mul } from '../pointwise/arithmetic.js';
import { type Dims, dimList, keepDims, reducedCount, spread } from './spread.js';
import { cat } from '../arrange/join.js';
import { onesLike } from '../factory/like.js';
import { cumprod, flip } from '../scan/scan.js';
import { narrow } from '../view/slice.js';
import { BROADCASTING, formatSizes } from '../../shape.js';
import { reshape } from '../view/view.js';
import { where } from '../pointwise/where.js';
import { type ReduceOptions, REDUCE } from './reduce-options.js';

/** Integers and bools are summed as int64. */
function sumType(self: Tensor, args: ReduceArgs): DType {
  return args.dtype ?? (isFloatingPoint(self.dtype) ? self.dtype : 'int64');
}

/** @throws dtype-unsupported for integers */
function meanType(self: Tensor, args: ReduceArgs): DType {
  const dtype = args.dtype ?? self.dtype;
  if (!isFloatingPoint(dtype)) {
    throw new TesseraError(
      'dtype-unsupported',
      `mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: ${dtype}`,
      { hints: ["Convert first: x.to('float32').mean()."] },
    );
  }
  return dtype;
}

/** The sum behind a mean in 16 bits is one in float32. */
function meanAccumulator(self: Tensor, args: ReduceArgs): DType {
  return opmathType(meanType(self, args));
}

/** A reduction in the type of its result, to which the elements are converted first. */
function reduceIn(
  name: string,
  join: (values: Elements, dtype: DType) => number,
  typeOf: (self: Tensor, args: ReduceArgs) => DType,
): ReturnType<typeof reduceKernel> {
  return reduceKernel(name, (values, args) => {
    const self = args.self;
    const dtype = typeOf(self, args);
    return join(dtype === self.dtype ? values : values.map(roundingTo(dtype)), dtype);
  });
}

/** All elements joined, from `start` on, in a dtype. */
function joining(
  start: number,
  step: (held: number, value: number) => number,
): (values: Elements, dtype: DType) => number {
  return (values, dtype) => {
    const join = exactIn(dtype, step);
    let held = start;
    for (let i = 0; i < values.length; i++) held = join(held, values[i]!);
    return held;
  };
}

const total = joining(0, (held, value) => held + value);
const product = joining(1, (held, value) => held * value);

const sumOp = defineOp(
  'aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor',
  {
    tags: ['reduction'],
    meta: reduceMeta('sum', sumType),
    kernel: reduceIn('sum', total, sumType),
    vjp: ({ self, dim }, { grad }) => ({
      self: () => spread(grad, self.sizes, dim),
    }),
  },
);

export const sumAllOp: OpOverload<Tensor> = defineOp(
  'aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor',
  {
    decompose: ({ self, dtype }) => callOp(sumOp, [self, null, false, dtype]),
  },
);

const sumToSizeOp = defineOp('aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor', {
  decompose: ({ self, size: target }) => {
    const lead = self.ndim - target.length;
    if (lead < 0 || target.some((size, i) => size !== 1 && size !== self.sizes[lead + i]))
      throw new TesseraError(
        'shape-mismatch',
        `size ${formatSizes(target)} is not expandable to size ${formatSizes(self.sizes)}.`,
        { hints: BROADCASTING },
      );
    const dims = self.sizes.flatMap((s, i) =>
      i < lead || (target[i - lead] === 1 && s !== 1) ? [i] : [],
    );
    // Of no dimension it is a sum too, of int64 for integers.
    if (dims.length === 0 && self.ndim > 0) return self;
    const summed = callOp(sumOp, [self, dims, true, null]);
    return lead > 0 ? reshape(summed, target) : summed;
  },
});

const meanOp = defineOp(
  'aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor',
  {
    tags: ['reduction'],
    meta: reduceMeta('mean', meanType),
    kernel: reduceIn(
      'mean',
      (values, dtype) => total(values, dtype) / values.length,
      meanAccumulator,
    ),
    vjp: ({ self, dim }, { grad }) => ({
      self: () => div(spread(grad, self.sizes, dim), reducedCount(self.sizes, dim)),
    }),
  },
);
export const meanAllOp: OpOverload<Tensor> = defineOp(
  'aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor',
  {
    decompose: ({ self, dtype }) => callOp(meanOp, [self, null, false, dtype]),
  },
);

/** The product of all other factors, from those before and behind: unlike a choice where there are zeros it has all derivatives. */
function othersOf(self: Tensor, dim: number | null): Tensor {
  const flat = dim === null ? reshape(self, [-1]) : self;
  const at = dim ?? 0;
  const before = (x: Tensor): Tensor =>
    cumprod(cat([onesLike(narrow(x, at, 0, 1)), narrow(x, at, 0, x.size(at) - 1)], at), at);
  return reshape(mul(before(flat), flip(before(flip(flat, at)), at)), self.sizes);
}

/** Exact also where factors are zero: there the gradient is the product of the other factors. */
function productGradient(grad: Tensor, self: Tensor, out: Tensor, dim: number | null): Tensor {
  if (isGradEnabled() && self.ndim > 0 && self.numel > 0)
    return mul(spread(grad, self.sizes, dim), othersOf(self, dim));
  const isZero = eq(self, 0);
  const zeros = keepDims(sum(isZero, dim, { dtype: self.dtype }), self.sizes, dim);
  const others = keepDims(prodOver(where(isZero, 1, self), dim), self.sizes, dim);
  const whole = keepDims(out, self.sizes, dim);
  const factor = where(
    isZero,
    where(eq(zeros, 1), others, 0),
    where(eq(zeros, 0), div(whole, where(isZero, 1, self)), 0),
  );
  return mul(spread(grad, self.sizes, dim), factor);
}

const prodOp = defineOp('aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor', {
  tags: ['reduction'],
  meta: reduceMeta('prod', sumType),
  kernel: reduceIn('prod', product, sumType),
  saved: ['self', 'out'],
  vjp: ({ self }, { grad, out }) => ({
    self: () => productGradient(grad, self, out, null),
  }),
});
const prodDimOp = defineOp(
  'aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor',
  {
    tags: ['reduction'],
    meta: reduceMeta('prod', sumType),
    kernel: reduceIn('prod', product, sumType),
    saved: ['self', 'out'],
    vjp: ({ self, dim }, { grad, out }) => ({
      self: () => productGradient(grad, self, out, dim),
    }),
  },
);

function prodOver(self: Tensor, dim: Dims): Tensor {
  return dim === null ? callOp(prodOp, [self, null]) : callOp(prodDimOp, [self, dim, false, null]);
}

/** Sum over dims (all by default). Integers give int64. @throws invalid-dim */
export function sum(self: Tensor, dim: Dims = null, options?: ReduceOptions): Tensor {
  checkOptionNames('sum', options, REDUCE);
  return callOp(sumOp, [self, dimList(dim), options?.keepdim ?? false, options?.dtype ?? null]);
}

/** self summed over the dimensions along which `sizes` broadcast to it. @throws shape-mismatch, schema-arguments */
export function sumToSize(self: Tensor, sizes: readonly number[]): Tensor {
  return callOp(sumToSizeOp, [self, sizes]);
}

/** Mean over dims (all by default). @throws invalid-dim, dtype-unsupported for integers */
export function mean(self: Tensor, dim: Dims = null, options?: ReduceOptions): Tensor {
  checkOptionNames('mean', options, REDUCE);
  return callOp(meanOp, [self, dimList(dim), options?.keepdim ?? false, options?.dtype ?? null]);
}

/** Product of all elements, or over one dimension. Integers give int64. @throws invalid-dim */
export function prod(self: Tensor, dim: number | null = null, options?: ReduceOptions): Tensor {
  checkOptionNames('prod', options, REDUCE);
  const dtype = options?.dtype ?? null;
  return dim === null
    ? callOp(prodOp, [self, dtype])
    : callOp(prodDimOp, [self, dim, options?.keepdim ?? false, dtype]);
}
