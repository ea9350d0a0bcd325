/**
 * @file Losses that are compositions of operators.
 */
import { type OptionNames, TesseraError, checkOptionNames } from '@tessera/shared';
import {
  type Tensor,
  clampMin,
  log,
  logSigmoid,
  mean,
  minimum,
  neg,
  noGrad,
  relu,
} from '@tessera/tensor';
import {
  type KlDivOptions,
  type Reduction,
  type TripletMarginLossOptions,
  checkTriplet,
  klDiv as divergence,
  formatSizes,
  reduced,
  reductionNumber,
  sameNumbers,
  checkTensors,
} from '@tessera/tensor/internal';
import { pairwiseDistance } from './distance.js';

/** The elements, their mean or their sum. @throws invalid-argument */
function reduce(losses: Tensor, reduction: Reduction): Tensor {
  return reduced(losses, reductionNumber(reduction));
}

/** Options of `klDiv`; `batchmean` divides by the batch, as the definition does. */
export interface KlDivLossOptions extends Omit<KlDivOptions, 'reduction'> {
  readonly reduction?: Reduction | 'batchmean';
}
const KL_DIV_LOSS: OptionNames<KlDivLossOptions> = { reduction: true, logTarget: true };

/** target (log target - input) of log-probabilities. @throws shape-mismatch @see torch.nn.functional.kl_div */
export function klDiv(input: Tensor, target: Tensor, options: KlDivLossOptions = {}): Tensor {
  checkOptionNames('klDiv', options, KL_DIV_LOSS);
  const { reduction = 'mean', logTarget = false } = options;
  if (reduction !== 'batchmean') return divergence(input, target, { reduction, logTarget });
  const total = divergence(input, target, { reduction: 'sum', logTarget });
  return input.ndim === 0 ? total : total.div(input.sizes[0]!);
}

/** Options of `gaussianNllLoss`. */
export interface GaussianNllLossOptions {
  /** Whether the constant term is added (default false). */
  readonly full?: boolean;
  /** Smallest variance (default 1e-6). */
  readonly eps?: number;
  readonly reduction?: Reduction;
}
const GAUSSIAN_NLL_LOSS: OptionNames<GaussianNllLossOptions> = {
  full: true,
  eps: true,
  reduction: true,
};

/**
 * Negative log-likelihood of targets under normal distributions; one variance may stand for a dimension.
 *
 * @throws shape-mismatch
 * @see torch.nn.functional.gaussian_nll_loss
 */
export function gaussianNllLoss(
  input: Tensor,
  target: Tensor,
  variance: Tensor,
  options: GaussianNllLossOptions = {},
): Tensor {
  checkOptionNames('gaussianNllLoss', options, GAUSSIAN_NLL_LOSS);
  checkTensors('gaussianNllLoss', { input, target, variance });
  const { full = false, eps = 1e-6, reduction = 'mean' } = options;
  const { sizes } = input;
  const given = variance.sizes;
  const lacksLast = sameNumbers(given, sizes.slice(0, -1));
  const others = sizes.flatMap((size, i) => (size === given[i] ? [] : [given[i]]));
  const fits =
    lacksLast ||
    (given.length === sizes.length && (others.length === 0 || sameNumbers(others, [1])));
  if (!fits)
    throw new TesseraError(
      'shape-mismatch',
      `gaussianNllLoss: var is of incorrect size: ${formatSizes(given)} for an input of ${formatSizes(sizes)}`,
      {
        hints: [
          'It has the sizes of the input, or those with 1 in one place or nothing in the last.',
        ],
      },
    );
  const matched = lacksLast ? variance.unsqueeze(-1) : variance;
  // The variance's own gradient ignores that it is limited.
  const limited = matched.add(noGrad(() => clampMin(matched, eps).sub(matched)));
  const losses = log(limited).add(input.sub(target).square().div(limited)).mul(0.5);
  return reduce(full ? losses.add(0.5 * Math.log(2 * Math.PI)) : losses, reduction);
}

/** Options of `multilabelSoftMarginLoss`. */
export interface MultilabelSoftMarginLossOptions {
  /** One weight per class. */
  readonly weight?: Tensor | null;
  readonly reduction?: Reduction;
}
const MULTILABEL_SOFT_MARGIN_LOSS: OptionNames<MultilabelSoftMarginLossOptions> = {
  weight: true,
  reduction: true,
};

/** Mean over classes of the binary cross entropy of logits [N, C]. @throws shape-mismatch @see torch.nn.functional.multilabel_soft_margin_loss */
export function multilabelSoftMarginLoss(
  input: Tensor,
  target: Tensor,
  options: MultilabelSoftMarginLossOptions = {},
): Tensor {
  checkOptionNames('multilabelSoftMarginLoss', options, MULTILABEL_SOFT_MARGIN_LOSS);
  checkTensors('multilabelSoftMarginLoss', { input, target });
  const { weight = null, reduction = 'mean' } = options;
  const negative = target
    .neg()
    .add(1)
    .mul(logSigmoid(neg(input)));
  const losses = neg(target.mul(logSigmoid(input)).add(negative));
  return reduce(mean(weight === null ? losses : losses.mul(weight), -1), reduction);
}

/** Distance of two tensors of vectors [N, D] → [N]. */
export type DistanceFunction = (x1: Tensor, x2: Tensor) => Tensor;

/** Options of `tripletMarginWithDistanceLoss`. */
export interface TripletMarginWithDistanceLossOptions extends Pick<
  TripletMarginLossOptions,
  'margin' | 'swap' | 'reduction'
> {
  /** Default `pairwiseDistance`. */
  readonly distanceFunction?: DistanceFunction | null;
}
const TRIPLET_MARGIN_WITH_DISTANCE_LOSS: OptionNames<TripletMarginWithDistanceLossOptions> = {
  distanceFunction: true,
  margin: true,
  swap: true,
  reduction: true,
};

/** max(d(anchor, positive) - d(anchor, negative) + margin, 0). @throws shape-mismatch, invalid-argument @see torch.nn.functional.triplet_margin_with_distance_loss */
export function tripletMarginWithDistanceLoss(
  anchor: Tensor,
  positive: Tensor,
  negative: Tensor,
  options: TripletMarginWithDistanceLossOptions = {},
): Tensor {
  checkOptionNames('tripletMarginWithDistanceLoss', options, TRIPLET_MARGIN_WITH_DISTANCE_LOSS);
  checkTensors('tripletMarginWithDistanceLoss', { anchor, positive, negative });
  const { margin = 1, swap = false, reduction = 'mean' } = options;
  checkTriplet(anchor, positive, negative, margin);
  const distance = options.distanceFunction ?? pairwiseDistance;
  const near = distance(anchor, positive);
  let far = distance(anchor, negative);
  if (swap) far = minimum(far, distance(positive, negative));
  return reduce(relu(near.sub(far).add(margin)), reduction);
}
