/**
 * @file Losses of distributions and of differences, as modules.
 */
import {
  type PoissonNllLossOptions,
  type Reduction,
  type Tensor,
  huberLoss,
  poissonNllLoss,
  smoothL1Loss,
} from '@tessera/tensor';
import {
  type GaussianNllLossOptions,
  type KlDivLossOptions,
  gaussianNllLoss,
  klDiv,
} from '../functional/losses.js';
import { Module } from '../module/module.js';
import { trustForward } from '../module/trust.js';
import { Loss, type LossOptions } from './loss.js';

/** Kullback-Leibler divergence of log-probabilities from a target distribution. @see torch.nn.KLDivLoss */
export class KLDivLoss extends Module {
  readonly reduction: Reduction | 'batchmean';
  readonly logTarget: boolean;

  constructor(options: KlDivLossOptions = {}) {
    super();
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
  readonly delta: number;

  constructor(options: LossOptions & { readonly delta?: number } = {}) {
    super(options);
    this.delta = options.delta ?? 1;
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor, target: Tensor): Tensor {
    return huberLoss(input, target, this.reduction, this.delta);
  }
}

/** Squared differences up to beta, scaled, then absolute ones. @see torch.nn.SmoothL1Loss */
export class SmoothL1Loss extends Loss {
  readonly beta: number;

  constructor(options: LossOptions & { readonly beta?: number } = {}) {
    super(options);
    this.beta = options.beta ?? 1;
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor, target: Tensor): Tensor {
    return smoothL1Loss(input, target, this.reduction, this.beta);
  }
}

trustForward([KLDivLoss, PoissonNLLLoss, GaussianNLLLoss, HuberLoss, SmoothL1Loss]);
