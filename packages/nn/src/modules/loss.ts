/**
 * @file Losses as modules.
 */
import { type Tensor } from '@tessera/tensor';
import {
  type Reduction,
  binaryCrossEntropy,
  binaryCrossEntropyWithLogits,
  crossEntropy,
  l1Loss,
  mseLoss,
  nllLoss,
} from '@tessera/tensor/internal';
import { checkOptions } from '../module/check-options.js';
import { Module } from '../module/module.js';

/** Option of every loss. */
export interface LossOptions {
  /** What becomes of the losses of a batch (default `mean`). */
  readonly reduction?: Reduction;
}

/** Base of losses. */
export abstract class Loss extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof LossOptions, true>> = { reduction: true };

  readonly reduction: Reduction;

  constructor(options: LossOptions = {}) {
    super();
    checkOptions(new.target, options);
    this.reduction = options.reduction ?? 'mean';
  }

  abstract override forward(...inputs: Tensor[]): Tensor;
}

/** Base of losses with class weights, a buffer as in PyTorch. */
export abstract class WeightedLoss extends Loss {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<
    Record<keyof (LossOptions & { readonly weight?: Tensor | null }), true>
  > = { weight: true, reduction: true };

  declare weight: Tensor | null;

  constructor(options: LossOptions & { readonly weight?: Tensor | null }) {
    super(options);
    this.registerBuffer('weight', options.weight ?? null);
  }
}

/** Options of `NLLLoss`. */
export interface NLLLossModuleOptions extends LossOptions {
  /** One weight per class. */
  readonly weight?: Tensor | null;
  /** Targets with this value count for nothing (default -100). */
  readonly ignoreIndex?: number;
}

/** Options of `CrossEntropyLoss`. */
export interface CrossEntropyLossOptions extends NLLLossModuleOptions {
  /** Share of the target spread over all classes (default 0). */
  readonly labelSmoothing?: number;
}

/** Cross entropy of logits [N, C, …] with class indices or probabilities. @see torch.nn.CrossEntropyLoss */
export class CrossEntropyLoss extends WeightedLoss {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof CrossEntropyLossOptions, true>> = {
    weight: true,
    ignoreIndex: true,
    reduction: true,
    labelSmoothing: true,
  };

  readonly ignoreIndex: number;
  readonly labelSmoothing: number;

  constructor(options: CrossEntropyLossOptions = {}) {
    super(options);
    this.ignoreIndex = options.ignoreIndex ?? -100;
    this.labelSmoothing = options.labelSmoothing ?? 0;
  }

  /** @throws shape-mismatch, index-out-of-range */
  override forward(input: Tensor, target: Tensor): Tensor {
    return crossEntropy(input, target, {
      weight: this.weight,
      reduction: this.reduction,
      ignoreIndex: this.ignoreIndex,
      labelSmoothing: this.labelSmoothing,
    });
  }
}

/** Negative log-likelihood of log-probabilities [N, C, …]. @see torch.nn.NLLLoss */
export class NLLLoss extends WeightedLoss {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof NLLLossModuleOptions, true>> = {
    weight: true,
    ignoreIndex: true,
    reduction: true,
  };

  readonly ignoreIndex: number;

  constructor(options: NLLLossModuleOptions = {}) {
    super(options);
    this.ignoreIndex = options.ignoreIndex ?? -100;
  }

  /** @throws shape-mismatch, index-out-of-range */
  override forward(input: Tensor, target: Tensor): Tensor {
    return nllLoss(input, target, {
      weight: this.weight,
      reduction: this.reduction,
      ignoreIndex: this.ignoreIndex,
    });
  }
}

/** Squared differences. @see torch.nn.MSELoss */
export class MSELoss extends Loss {
  /** @throws shape-mismatch */
  override forward(input: Tensor, target: Tensor): Tensor {
    return mseLoss(input, target, { reduction: this.reduction });
  }
}

/** Absolute differences. @see torch.nn.L1Loss */
export class L1Loss extends Loss {
  /** @throws shape-mismatch */
  override forward(input: Tensor, target: Tensor): Tensor {
    return l1Loss(input, target, { reduction: this.reduction });
  }
}

/** Options of `BCEWithLogitsLoss`. */
export interface BCEWithLogitsLossOptions extends LossOptions {
  /** Weight of each element. */
  readonly weight?: Tensor | null;
  /** Weight of the positive targets. */
  readonly posWeight?: Tensor | null;
}

/** Binary cross entropy of logits. @see torch.nn.BCEWithLogitsLoss */
export class BCEWithLogitsLoss extends WeightedLoss {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof BCEWithLogitsLossOptions, true>> = {
    weight: true,
    posWeight: true,
    reduction: true,
  };

  declare pos_weight: Tensor | null;

  constructor(options: BCEWithLogitsLossOptions = {}) {
    super(options);
    this.registerBuffer('pos_weight', options.posWeight ?? null);
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor, target: Tensor): Tensor {
    return binaryCrossEntropyWithLogits(input, target, {
      weight: this.weight,
      posWeight: this.pos_weight,
      reduction: this.reduction,
    });
  }
}

/** Binary cross entropy of probabilities. @see torch.nn.BCELoss */
export class BCELoss extends WeightedLoss {
  constructor(options: LossOptions & { readonly weight?: Tensor | null } = {}) {
    super(options);
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor, target: Tensor): Tensor {
    return binaryCrossEntropy(input, target, { weight: this.weight, reduction: this.reduction });
  }
}
