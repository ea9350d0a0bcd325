/**
 * @file More smooth activations, and the learned slope, as modules.
 */
import type { OptionNames } from '@tessera/shared';
import { type Tensor, celu, full, logSigmoid, prelu, selu } from '@tessera/tensor';
import { celu_, selu_ } from '@tessera/tensor/internal';
import { softsign, tanhshrink } from '../functional/activations.js';
import { floatLiteral } from '../module/module-repr.js';
import { argumentsByName, checkNumbers, checkOptions } from '../module/check-options.js';
import { Module } from '../module/module.js';
import { Parameter } from '../parameter.js';
import { InplaceActivation, type InplaceOptions } from './activation.js';
import type { FactoryOptions } from './factory-options.js';

/** Options of `CELU`. */
export interface CELUOptions extends InplaceOptions {
  /** Minus the limit below zero, 1 by default. */
  readonly alpha?: number;
}

/** x, or α (e^{x/α} - 1) below zero: `new CELU(2)` or `{ alpha: 2 }`. @see torch.nn.CELU @throws invalid-argument */
export class CELU extends InplaceActivation {
  static override readonly optionNames: OptionNames<CELUOptions> = { alpha: true, inplace: true };

  readonly alpha: number;

  constructor(alpha?: number, options?: InplaceOptions);
  constructor(options: CELUOptions);
  constructor(...given: readonly unknown[]) {
    const { alpha = 1, inplace = false } = argumentsByName<CELUOptions>(
      new.target,
      ['alpha'],
      given,
    );
    super({ inplace });
    checkNumbers(new.target, { alpha });
    this.alpha = alpha;
  }

  override forward(input: Tensor): Tensor {
    return this.inplace ? celu_(input, { alpha: this.alpha }) : celu(input, { alpha: this.alpha });
  }

  override extraRepr(): string {
    return `alpha=${floatLiteral(this.alpha)}${this.inplace ? ', inplace=True' : ''}`;
  }
}

/** A scaled ELU that keeps mean 0 and variance 1. @see torch.nn.SELU @see https://arxiv.org/abs/1706.02515 */
export class SELU extends InplaceActivation {
  override forward(input: Tensor): Tensor {
    return this.inplace ? selu_(input) : selu(input);
  }
}

/** log σ(x) @see torch.nn.LogSigmoid */
export class LogSigmoid extends Module {
  override forward(input: Tensor): Tensor {
    return logSigmoid(input);
  }
}

/** x / (1 + |x|) @see torch.nn.Softsign */
export class Softsign extends Module {
  override forward(input: Tensor): Tensor {
    return softsign(input);
  }
}

/** x - tanh x @see torch.nn.Tanhshrink */
export class Tanhshrink extends Module {
  override forward(input: Tensor): Tensor {
    return tanhshrink(input);
  }
}

/** Options of `PReLU`. */
export interface PReLUOptions extends FactoryOptions {
  /** Slope at first (default 0.25). */
  readonly init?: number;
}

/** x, or a learned slope below zero, one for all or one per channel. @see torch.nn.PReLU */
export class PReLU extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof PReLUOptions, true>> = {
    init: true,
    device: true,
    dtype: true,
  };

  readonly init: number;
  /** [numParameters] */
  weight: Parameter;

  constructor(
    readonly numParameters = 1,
    options: PReLUOptions = {},
  ) {
    super();
    checkOptions(new.target, options);
    const { init = 0.25, ...factory } = options;
    this.init = init;
    this.weight = new Parameter(full([numParameters], init, { dtype: 'float32', ...factory }));
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    return prelu(input, this.weight);
  }

  override extraRepr(): string {
    return `num_parameters=${this.numParameters}`;
  }
}
