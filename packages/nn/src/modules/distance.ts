/**
 * @file `CosineSimilarity` and `PairwiseDistance`.
 */
import type { Tensor } from '@tessera/tensor';
import {
  type CosineSimilarityOptions,
  type PairwiseDistanceOptions,
  cosineSimilarity,
  pairwiseDistance,
} from '../functional/distance.js';
import { checkOptions } from '../module/check-options.js';
import { Module } from '../module/module.js';

/** Cosine of the angle between vectors along a dimension. @see torch.nn.CosineSimilarity */
export class CosineSimilarity extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof CosineSimilarityOptions, true>> = {
    dim: true,
    eps: true,
  };

  readonly dim: number;
  readonly eps: number;

  constructor(options: CosineSimilarityOptions = {}) {
    super();
    checkOptions(new.target, options);
    this.dim = options.dim ?? 1;
    this.eps = options.eps ?? 1e-8;
  }

  /** @throws shape-mismatch */
  override forward(x1: Tensor, x2: Tensor): Tensor {
    return cosineSimilarity(x1, x2, { dim: this.dim, eps: this.eps });
  }
}

/** Norm of the difference of vectors. @see torch.nn.PairwiseDistance */
export class PairwiseDistance extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof PairwiseDistanceOptions, true>> = {
    p: true,
    eps: true,
    keepdim: true,
  };

  readonly p: number;
  readonly eps: number;
  readonly keepdim: boolean;

  constructor(options: PairwiseDistanceOptions = {}) {
    super();
    checkOptions(new.target, options);
    this.p = options.p ?? 2;
    this.eps = options.eps ?? 1e-6;
    this.keepdim = options.keepdim ?? false;
  }

  /** @throws shape-mismatch */
  override forward(x1: Tensor, x2: Tensor): Tensor {
    return pairwiseDistance(x1, x2, { p: this.p, eps: this.eps, keepdim: this.keepdim });
  }
}
