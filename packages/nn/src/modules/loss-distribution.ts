/**
 * @file Losses of distributions and of differences, as modules.
 */
import { type Tensor } from '@tessera/tensor';
import {
  type PoissonNllLossOptions,
  type Reduction,
  huberLoss,
  poissonNllLoss,
  smoothL1Loss,
} from '@tessera/tensor/internal';
import {
  type GaussianNllLossOptions,
  type KlDivLossOptions,
  gaussianNllLoss,
  klDiv,
} from '../functional/losses.js';
import { checkOptions } from '../module/check-options.js';
import { Module } from '../module/module.js';
import { Loss, type LossOptions } from './loss.js';

/** Kullback-Leibler divergence of log-probabilities from a target distribution. @see torch.nn.KLDivLoss */
export class KLDivLoss extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof KlDivLossOptions, true>> = {
    reduction: true,
    logTarget: true,
  };

  readonly reduction: Reduction | 'batchmean';
  readonly logTarget: boolean;

  constructor(options: KlDivLossOptions = {}) {
    super();
    checkOptions(new.target, options);
    this.reduction = options.reduction ?? 'mean';
    this.logTarget = options.logTarget ?? false;
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor, target: Tensor): Tensor {
    return klDiv(input, target, { reduction: this.reduction, logTarget: this.logTarget });
  }
}

/** Negative log-likelihood of counts under Poisson distributions. @see torch.nn.PoissonNLLLoss */
export class PoissonNLLLoss extends Loss {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof PoissonNllLossOptions, true>> = {
    logInput: true,
    full: true,
    eps: true,
    reduction: true,
  };

  readonly logInput: boolean;
  readonly full: boolean;
  readonly eps: number;

  constructor(options: PoissonNllLossOptions = {}) {
    super(options);
    this.logInput = options.logInput ?? true;
    this.full = options.full ?? false;
    this.eps = options.eps ?? 1e-8;
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor, target: Tensor): Tensor {
    const { logInput, full, eps, reduction } = this;
    return poissonNllLoss(input, target, { logInput, full, eps, reduction });
  }
}

/** Negative log-likelihood of targets under normal distributions. @see torch.nn.GaussianNLLLoss */
export class GaussianNLLLoss extends Loss {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<Record<keyof GaussianNllLossOptions, true>> = {
    full: true,
    eps: true,
    reduction: true,
  };

  readonly full: boolean;
  readonly eps: number;

  constructor(options: GaussianNllLossOptions = {}) {
    super(options);
    this.full = options.full ?? false;
    this.eps = options.eps ?? 1e-6;
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor, target: Tensor, variance: Tensor): Tensor {
    const { full, eps, reduction } = this;
    return gaussianNllLoss(input, target, variance, { full, eps, reduction });
  }
}

/** Squared differences up to delta, then linear. @see torch.nn.HuberLoss */
export class HuberLoss extends Loss {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<
    Record<keyof (LossOptions & { readonly delta?: number }), true>
  > = { reduction: true, delta: true };

  readonly delta: number;

  constructor(options: LossOptions & { readonly delta?: number } = {}) {
    super(options);
    this.delta = options.delta ?? 1;
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor, target: Tensor): Tensor {
    return huberLoss(input, target, { reduction: this.reduction, delta: this.delta });
  }
}

/** Squared differences up to beta, scaled, then absolute ones. @see torch.nn.SmoothL1Loss */
export class SmoothL1Loss extends Loss {
  /** Names of the constructor's options. */
  static override readonly optionNames: Readonly<
    Record<keyof (LossOptions & { readonly beta?: number }), true>
  > = { reduction: true, beta: true };

  readonly beta: number;

  constructor(options: LossOptions & { readonly beta?: number } = {}) {
    super(options);
    this.beta = options.beta ?? 1;
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor, target: Tensor): Tensor {
    return smoothL1Loss(input, target, { reduction: this.reduction, beta: this.beta });
  }
}
