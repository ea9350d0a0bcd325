/**
 * @file Losses with margins, as modules.
 */
import { type Tensor } from '@tessera/tensor';
import {
  type MarginLossOptions,
  type MultiMarginLossOptions,
  type TripletMarginLossOptions,
  cosineEmbeddingLoss,
  hingeEmbeddingLoss,
  marginRankingLoss,
  multiMarginLoss,
  multilabelMarginLoss,
  softMarginLoss,
  tripletMarginLoss,
} from '@tessera/tensor/internal';
import {
  type DistanceFunction,
  type MultilabelSoftMarginLossOptions,
  multilabelSoftMarginLoss,
  tripletMarginWithDistanceLoss,
} from '../functional/losses.js';
import type { Module } from '../module/module.js';
import { PairwiseDistance } from './distance.js';
import { Loss, type LossOptions, WeightedLoss } from './loss.js';

/** log(1 + e^{-target · input}) of targets 1 and -1. @see torch.nn.SoftMarginLoss */
export class SoftMarginLoss extends Loss {
  /** @throws shape-mismatch */
  override forward(input: Tensor, target: Tensor): Tensor {
    return softMarginLoss(input, target, { reduction: this.reduction });
  }
}

/** The input for target 1, max(0, margin - input) for -1. @see torch.nn.HingeEmbeddingLoss */
export class HingeEmbeddingLoss extends Loss {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof MarginLossOptions, true>> = {
    margin: true,
    reduction: true,
  };

  readonly margin: number;

  constructor(options: MarginLossOptions = {}) {
    super(options);
    this.margin = options.margin ?? 1;
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor, target: Tensor): Tensor {
    return hingeEmbeddingLoss(input, target, { margin: this.margin, reduction: this.reduction });
  }
}

/** max(0, -target (input1 - input2) + margin). @see torch.nn.MarginRankingLoss */
export class MarginRankingLoss extends Loss {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof MarginLossOptions, true>> = {
    margin: true,
    reduction: true,
  };

  readonly margin: number;

  constructor(options: MarginLossOptions = {}) {
    super(options);
    this.margin = options.margin ?? 0;
  }

  /** @throws shape-mismatch */
  override forward(input1: Tensor, input2: Tensor, target: Tensor): Tensor {
    const { margin, reduction } = this;
    return marginRankingLoss(input1, input2, target, { margin, reduction });
  }
}

/** 1 - cosine for target 1, max(0, cosine - margin) for -1. @see torch.nn.CosineEmbeddingLoss */
export class CosineEmbeddingLoss extends Loss {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof MarginLossOptions, true>> = {
    margin: true,
    reduction: true,
  };

  readonly margin: number;

  constructor(options: MarginLossOptions = {}) {
    super(options);
    this.margin = options.margin ?? 0;
  }

  /** @throws shape-mismatch */
  override forward(input1: Tensor, input2: Tensor, target: Tensor): Tensor {
    const { margin, reduction } = this;
    return cosineEmbeddingLoss(input1, input2, target, { margin, reduction });
  }
}

/** How much other classes come within a margin of the right one. @see torch.nn.MultiMarginLoss */
export class MultiMarginLoss extends WeightedLoss {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof MultiMarginLossOptions, true>> = {
    p: true,
    margin: true,
    weight: true,
    reduction: true,
  };

  readonly p: number;
  readonly margin: number;

  constructor(options: MultiMarginLossOptions = {}) {
    super(options);
    this.p = options.p ?? 1;
    this.margin = options.margin ?? 1;
  }

  /** @throws shape-mismatch, index-out-of-range */
  override forward(input: Tensor, target: Tensor): Tensor {
    const { p, margin, weight, reduction } = this;
    return multiMarginLoss(input, target, { p, margin, weight, reduction });
  }
}

/** How much other classes come within a margin of the right ones. @see torch.nn.MultiLabelMarginLoss */
export class MultiLabelMarginLoss extends Loss {
  /** @throws shape-mismatch */
  override forward(input: Tensor, target: Tensor): Tensor {
    return multilabelMarginLoss(input, target, { reduction: this.reduction });
  }
}

/** Mean over classes of the binary cross entropy of logits. @see torch.nn.MultiLabelSoftMarginLoss */
export class MultiLabelSoftMarginLoss extends WeightedLoss {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<
    Record<keyof MultilabelSoftMarginLossOptions, true>
  > = {
    weight: true,
    reduction: true,
  };

  constructor(options: MultilabelSoftMarginLossOptions = {}) {
    super(options);
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor, target: Tensor): Tensor {
    const { weight, reduction } = this;
    return multilabelSoftMarginLoss(input, target, { weight, reduction });
  }
}

/** How much a negative comes within a margin of a positive. @see torch.nn.TripletMarginLoss */
export class TripletMarginLoss extends Loss {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof TripletMarginLossOptions, true>> = {
    margin: true,
    p: true,
    eps: true,
    swap: true,
    reduction: true,
  };

  readonly margin: number;
  readonly p: number;
  readonly eps: number;
  readonly swap: boolean;

  constructor(options: TripletMarginLossOptions = {}) {
    super(options);
    this.margin = options.margin ?? 1;
    this.p = options.p ?? 2;
    this.eps = options.eps ?? 1e-6;
    this.swap = options.swap ?? false;
  }

  /** @throws shape-mismatch */
  override forward(anchor: Tensor, positive: Tensor, negative: Tensor): Tensor {
    const { margin, p, eps, swap, reduction } = this;
    return tripletMarginLoss(anchor, positive, negative, { margin, p, eps, swap, reduction });
  }
}

/** A module that measures distances of vectors, [N, D], [N, D] → [N]. */
export interface DistanceModule extends Module {
  forward(x1: Tensor, x2: Tensor): Tensor;
}

/** Options of `TripletMarginWithDistanceLoss`. */
export interface TripletMarginWithDistanceLossModuleOptions
  extends LossOptions, Pick<TripletMarginLossOptions, 'margin' | 'swap'> {
  /** A function or a module (default `PairwiseDistance`). */
  readonly distanceFunction?: DistanceFunction | DistanceModule | null;
}

/** The same with a distance of one's own. @see torch.nn.TripletMarginWithDistanceLoss */
export class TripletMarginWithDistanceLoss extends Loss {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<
    Record<keyof TripletMarginWithDistanceLossModuleOptions, true>
  > = { distanceFunction: true, margin: true, swap: true, reduction: true };

  readonly distance_function: DistanceFunction | DistanceModule;
  readonly margin: number;
  readonly swap: boolean;

  constructor(options: TripletMarginWithDistanceLossModuleOptions = {}) {
    super(options);
    this.distance_function = options.distanceFunction ?? new PairwiseDistance();
    this.margin = options.margin ?? 1;
    this.swap = options.swap ?? false;
  }

  /** @throws shape-mismatch */
  override forward(anchor: Tensor, positive: Tensor, negative: Tensor): Tensor {
    const { margin, swap, reduction, distance_function: distance } = this;
    return tripletMarginWithDistanceLoss(anchor, positive, negative, {
      distanceFunction:
        typeof distance === 'function' ? distance : (x1, x2) => distance.call(x1, x2),
      margin,
      swap,
      reduction,
    });
  }
}
