/**
 * @file The dropout family as modules: nothing happens in evaluation.
 */
import { TesseraError } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import {
  type DropoutOptions,
  alphaDropout,
  dropout,
  dropout1d,
  dropout2d,
  dropout3d,
  featureAlphaDropout,
} from '../functional/dropout.js';
import { floatLiteral, pythonLiteral } from '../module/module-repr.js';
import { checkNumbers, checkOptions } from '../module/check-options.js';
import { Module } from '../module/module.js';
import type { InplaceOptions } from './activation.js';

/** What they have in common. */
abstract class DropoutModule extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof InplaceOptions, true>> = { inplace: true };

  readonly inplace: boolean;

  /** @throws invalid-argument unless 0 ≤ p ≤ 1 */
  constructor(
    readonly p = 0.5,
    options: InplaceOptions = {},
  ) {
    super();
    checkOptions(new.target, options);
    checkNumbers(new.target, { p });
    if (!(p >= 0 && p <= 1))
      throw new TesseraError(
        'invalid-argument',
        `dropout probability has to be between 0 and 1, but got ${p}`,
        { hints: ['p is the share of elements set to zero.'] },
      );
    this.inplace = options.inplace ?? false;
  }

  abstract override forward(input: Tensor): Tensor;

  protected get options(): DropoutOptions {
    return { p: this.p, training: this.training, inplace: this.inplace };
  }

  override extraRepr(): string {
    return `p=${floatLiteral(this.p)}, inplace=${pythonLiteral(this.inplace)}`;
  }
}

/** Zeroes elements with probability p and scales the rest by 1 / (1 - p). @see torch.nn.Dropout */
export class Dropout extends DropoutModule {
  override forward(input: Tensor): Tensor {
    return dropout(input, this.options);
  }
}

/** Zeroes whole channels of [N, C, L] or [C, L]. @see torch.nn.Dropout1d */
export class Dropout1d extends DropoutModule {
  override forward(input: Tensor): Tensor {
    return dropout1d(input, this.options);
  }
}

/** Zeroes whole channels of [N, C, H, W]. @see torch.nn.Dropout2d */
export class Dropout2d extends DropoutModule {
  override forward(input: Tensor): Tensor {
    return dropout2d(input, this.options);
  }
}

/** Zeroes whole channels of [N, C, D, H, W] or [C, D, H, W]. @see torch.nn.Dropout3d */
export class Dropout3d extends DropoutModule {
  override forward(input: Tensor): Tensor {
    return dropout3d(input, this.options);
  }
}

/** Dropout that keeps mean 0 and variance 1, for SELU. @see torch.nn.AlphaDropout */
export class AlphaDropout extends DropoutModule {
  override forward(input: Tensor): Tensor {
    return alphaDropout(input, this.options);
  }
}

/** The same for whole channels of [N, C, …]. @see torch.nn.FeatureAlphaDropout */
export class FeatureAlphaDropout extends DropoutModule {
  override forward(input: Tensor): Tensor {
    return featureAlphaDropout(input, this.options);
  }
}
