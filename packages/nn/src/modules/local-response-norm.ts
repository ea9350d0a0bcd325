/**
 * @file `LocalResponseNorm`: channels divided by what their neighbours are.
 */
import type { Tensor } from '@tessera/tensor';
import {
  LOCAL_RESPONSE_NORM,
  type LocalResponseNormOptions,
  localResponseNorm,
} from '../functional/local-response-norm.js';
import { pythonLiteral, floatLiteral } from '../module/module-repr.js';
import { checkOptions, checkSizes } from '../module/check-options.js';
import { Module } from '../module/module.js';

/** input / (k + α · mean of squares of `size` neighbouring channels)^β, [N, C, …]. @see torch.nn.LocalResponseNorm */
export class LocalResponseNorm extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof LocalResponseNormOptions, true>> =
    LOCAL_RESPONSE_NORM;

  readonly alpha: number;
  readonly beta: number;
  readonly k: number;

  constructor(
    readonly size: number,
    options: LocalResponseNormOptions = {},
  ) {
    super();
    checkOptions(new.target, options);
    checkSizes(new.target, { size });
    this.alpha = options.alpha ?? 1e-4;
    this.beta = options.beta ?? 0.75;
    this.k = options.k ?? 1;
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    const { size, alpha, beta, k } = this;
    return localResponseNorm(input, size, { alpha, beta, k });
  }

  override extraRepr(): string {
    return `${this.size}, alpha=${pythonLiteral(this.alpha)}, beta=${pythonLiteral(this.beta)}, k=${floatLiteral(this.k)}`;
  }
}
