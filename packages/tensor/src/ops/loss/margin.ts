/**
 * @file Losses that ask for a margin between similarities or distances.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import { checkInPlace } from '../../dispatch/check-in-place.js';
import { callOp } from '../../dispatch/dispatcher.js';
import { isFloatingPoint } from '../../dtype.js';
import { defaultDType } from '../../default-dtype.js';
import { type OpOverload, defineOp } from '../../op/op-overload.js';
import { formatSizes } from '../../shape.js';
import type { Tensor } from '../../tensor.js';
import { eq, ne } from '../pointwise/comparison.js';
import { toDtype } from '../arrange/copy.js';
import { div } from '../pointwise/division.js';
import { exp, log1p, sqrt } from '../pointwise/exponential.js';
import { clampMin, minimum } from '../pointwise/extremum.js';
import { zerosLike } from '../factory/like.js';
import { type LossOptions, reduced, reductionOf, LOSS } from './reduce.js';
import { add, mul, neg, sub } from '../pointwise/arithmetic.js';
import { rsub } from '../pointwise/rsub.js';
import { sum } from '../reduction/reduction.js';
import { norm } from '../reduction/norm.js';
import { where } from '../pointwise/where.js';

/** Integers take part in float arithmetic as the default float type. */
function floating(x: Tensor): Tensor {
  return isFloatingPoint(x.dtype) ? x : toDtype(x, defaultDType());
}

/** Keeps the square root away from 0. */
const SMALLEST_SQUARE = 1e-12;

/** @throws shape-mismatch */
function checkCosine(input1: Tensor, input2: Tensor, target: Tensor): void {
  if (target.ndim <= 1 && input1.ndim === target.ndim + 1 && input2.ndim === target.ndim + 1)
    return;
  throw new TesseraError(
    'shape-mismatch',
    target.ndim > 1
      ? `cosine_embedding_loss: 0D or 1D target tensor expected, multi-target not supported, got ${formatSizes(target.sizes)}`
      : `cosine_embedding_loss: ${target.ndim}D target tensor expects ${target.ndim + 1}D input tensors, but found inputs with sizes ${formatSizes(input1.sizes)} and ${formatSizes(input2.sizes)}.`,
    { hints: ['Inputs are [N, D] with a target [N], or [D] with a target [].'] },
  );
}

const cosineOp = defineOp(
  'aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor',
  {
    decompose: ({ input1: a, input2: b, target: labels, margin, reduction }) => {
      checkCosine(a, b, labels);
      const over = (product: Tensor): Tensor => sum(product, labels.ndim);
      const size = (x: Tensor): Tensor => add(over(mul(x, x)), SMALLEST_SQUARE);
      const cosine = div(over(mul(a, b)), sqrt(mul(size(a), size(b))));
      const zeros = zerosLike(cosine);
      const apart = clampMin(sub(cosine, margin), 0);
      return reduced(
        add(where(eq(labels, 1), rsub(cosine, 1), zeros), where(eq(labels, -1), apart, zeros)),
        reduction,
      );
    },
  },
);

const hingeOp = defineOp(
  'aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor',
  {
    decompose: ({ self: x, target, margin, reduction }) => {
      const zeros = zerosLike(x);
      const apart = clampMin(rsub(floating(x), margin), 0);
      return reduced(
        add(where(ne(target, 1), apart, zeros), where(ne(target, -1), x, zeros)),
        reduction,
      );
    },
  },
);

const rankingOp = defineOp(
  'aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor',
  {
    decompose: ({ input1: a, input2: b, target: order, margin, reduction }) => {
      if (a.ndim !== b.ndim || a.ndim !== order.ndim)
        throw new TesseraError(
          'shape-mismatch',
          `margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: ${formatSizes(a.sizes)}, input2: ${formatSizes(b.sizes)}, target: ${formatSizes(order.sizes)}`,
          { hints: ['Give all three the same number of dimensions.'] },
        );
      const distance = floating(mul(neg(order), sub(a, b)));
      return reduced(clampMin(add(distance, margin), 0), reduction);
    },
  },
);

const softOp: OpOverload<Tensor> = defineOp(
  'aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor',
  {
    decompose: ({ self, target, reduction }) => {
      // What PyTorch writes the losses into has the input's shape and type.
      const into = neg(self);
      const losses = log1p(exp(mul(into, target)));
      checkInPlace(softOp, into, losses);
      return reduced(toDtype(losses, self.dtype), reduction);
    },
  },
);

/** @throws shape-mismatch, invalid-argument */
export function checkTriplet(a: Tensor, near: Tensor, far: Tensor, margin: number): void {
  if (a.ndim !== near.ndim || a.ndim !== far.ndim)
    throw new TesseraError(
      'shape-mismatch',
      `The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor ${a.ndim}D, positive ${near.ndim}D, and negative ${far.ndim}D inputs`,
      { hints: ['They are all [N, D], or all [D].'] },
    );
  if (margin <= 0)
    throw new TesseraError(
      'invalid-argument',
      `triplet_margin_loss: margin must be greater than 0, got ${margin}`,
      { hints: ['The margin is the least distance wanted between the two pairs.'] },
    );
}

const tripletOp = defineOp(
  'aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor',
  {
    decompose: ({ anchor: a, positive: near, negative: far, margin, p, eps, swap, reduction }) => {
      checkTriplet(a, near, far, margin);
      const distance = (x: Tensor, y: Tensor): Tensor => norm(add(floating(sub(x, y)), eps), p, -1);
      let apart = distance(a, far);
      if (swap === true) apart = minimum(apart, distance(near, far));
      const loss = clampMin(sub(add(distance(a, near), margin), apart), 0);
      return reduced(loss, reduction);
    },
  },
);

/** Parameters of losses with a margin. */
export interface MarginLossOptions extends LossOptions {
  readonly margin?: number;
}
const MARGIN_LOSS: OptionNames<MarginLossOptions> = { margin: true, reduction: true };

/** 1 - cos(a, b) for target 1, max(0, cos(a, b) - margin) for -1: [N, D], [N, D], [N]. @throws shape-mismatch */
export function cosineEmbeddingLoss(
  input1: Tensor,
  input2: Tensor,
  target: Tensor,
  options: MarginLossOptions = {},
): Tensor {
  checkOptionNames('cosineEmbeddingLoss', options, MARGIN_LOSS);
  return callOp(cosineOp, [input1, input2, target, options.margin ?? 0, reductionOf(options)]);
}

/** The input for target 1, max(0, margin - input) for -1. @throws shape-mismatch */
export function hingeEmbeddingLoss(
  input: Tensor,
  target: Tensor,
  options: MarginLossOptions = {},
): Tensor {
  checkOptionNames('hingeEmbeddingLoss', options, MARGIN_LOSS);
  return callOp(hingeOp, [input, target, options.margin ?? 1, reductionOf(options)]);
}

/** max(0, -target (input1 - input2) + margin). @throws shape-mismatch */
export function marginRankingLoss(
  input1: Tensor,
  input2: Tensor,
  target: Tensor,
  options: MarginLossOptions = {},
): Tensor {
  checkOptionNames('marginRankingLoss', options, MARGIN_LOSS);
  return callOp(rankingOp, [input1, input2, target, options.margin ?? 0, reductionOf(options)]);
}

/** log(1 + exp(-target input)). @throws shape-mismatch */
export function softMarginLoss(input: Tensor, target: Tensor, options: LossOptions = {}): Tensor {
  checkOptionNames('softMarginLoss', options, LOSS);
  return callOp(softOp, [input, target, reductionOf(options)]);
}

/** Parameters of `tripletMarginLoss`. */
export interface TripletMarginLossOptions extends MarginLossOptions {
  /** Degree of the norm (default 2). */
  readonly p?: number;
  /** Added to differences (default 1e-6). */
  readonly eps?: number;
  /** Whether the distance of positive and negative counts if it is the smaller one. */
  readonly swap?: boolean;
}
const TRIPLET_MARGIN_LOSS: OptionNames<TripletMarginLossOptions> = {
  margin: true,
  p: true,
  eps: true,
  swap: true,
  reduction: true,
};

/** max(0, |anchor - positive| - |anchor - negative| + margin): [N, D] each. @throws shape-mismatch, invalid-argument */
export function tripletMarginLoss(
  anchor: Tensor,
  positive: Tensor,
  negative: Tensor,
  options: TripletMarginLossOptions = {},
): Tensor {
  checkOptionNames('tripletMarginLoss', options, TRIPLET_MARGIN_LOSS);
  const { margin = 1, p = 2, eps = 1e-6, swap = false } = options;
  return callOp(tripletOp, [
    anchor,
    positive,
    negative,
    margin,
    p,
    eps,
    swap,
    reductionOf(options),
  ]);
}
