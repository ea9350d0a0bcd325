/**
 * @file Activations as modules.
 */
import type { OptionNames } from '@tessera/shared';
import {
  type GeluApproximation,
  type Tensor,
  elu,
  gelu,
  hardswish,
  leakyRelu,
  logSoftmax,
  mish,
  relu,
  sigmoid,
  silu,
  softmax,
  softplus,
  tanh,
} from '@tessera/tensor';
import { elu_, hardswish_, leakyRelu_, mish_, relu_, silu_ } from '@tessera/tensor/internal';
import { floatLiteral, pythonLiteral } from '../module/module-repr.js';
import { argumentsByName, checkNumbers, checkOptions } from '../module/check-options.js';
import { Module } from '../module/module.js';

/** Option of activations that can write into their input. */
export interface InplaceOptions {
  readonly inplace?: boolean;
}

/** Base of those activations. */
export abstract class InplaceActivation extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof InplaceOptions, true>> = { inplace: true };

  readonly inplace: boolean;

  constructor(options: InplaceOptions = {}) {
    super();
    checkOptions(new.target, options);
    this.inplace = options.inplace ?? false;
  }

  override extraRepr(): string {
    return this.inplace ? 'inplace=True' : '';
  }
}

/** max(x, 0) @see torch.nn.ReLU */
export class ReLU extends InplaceActivation {
  override forward(input: Tensor): Tensor {
    return this.inplace ? relu_(input) : relu(input);
  }
}

/** x σ(x) @see torch.nn.SiLU */
export class SiLU extends InplaceActivation {
  override forward(input: Tensor): Tensor {
    return this.inplace ? silu_(input) : silu(input);
  }
}

/** x · relu6(x + 3) / 6 @see torch.nn.Hardswish */
export class Hardswish extends InplaceActivation {
  override forward(input: Tensor): Tensor {
    return this.inplace ? hardswish_(input) : hardswish(input);
  }
}

/** x · tanh(softplus(x)) @see torch.nn.Mish */
export class Mish extends InplaceActivation {
  override forward(input: Tensor): Tensor {
    return this.inplace ? mish_(input) : mish(input);
  }
}

/** Options of `LeakyReLU`. */
export interface LeakyReLUOptions extends InplaceOptions {
  /** Slope below zero, 0.01 by default. */
  readonly negativeSlope?: number;
}

/** x, or a small slope below zero: `new LeakyReLU(0.2)` or `{ negativeSlope: 0.2 }`. @see torch.nn.LeakyReLU @throws invalid-argument */
export class LeakyReLU extends InplaceActivation {
  static override readonly optionNames: OptionNames<LeakyReLUOptions> = {
    negativeSlope: true,
    inplace: true,
  };

  readonly negativeSlope: number;

  constructor(negativeSlope?: number, options?: InplaceOptions);
  constructor(options: LeakyReLUOptions);
  constructor(...given: readonly unknown[]) {
    const { negativeSlope = 0.01, inplace = false } = argumentsByName<LeakyReLUOptions>(
      new.target,
      ['negativeSlope'],
      given,
    );
    super({ inplace });
    checkNumbers(new.target, { negativeSlope });
    this.negativeSlope = negativeSlope;
  }

  override forward(input: Tensor): Tensor {
    return this.inplace
      ? leakyRelu_(input, { negativeSlope: this.negativeSlope })
      : leakyRelu(input, { negativeSlope: this.negativeSlope });
  }

  override extraRepr(): string {
    return `negative_slope=${pythonLiteral(this.negativeSlope)}${this.inplace ? ', inplace=True' : ''}`;
  }
}

/** Options of `ELU`. */
export interface ELUOptions extends InplaceOptions {
  /** Minus the limit below zero, 1 by default. */
  readonly alpha?: number;
}

/** x, or α (eˣ - 1) below zero: `new ELU(2)` or `{ alpha: 2 }`. @see torch.nn.ELU @throws invalid-argument */
export class ELU extends InplaceActivation {
  static override readonly optionNames: OptionNames<ELUOptions> = { alpha: true, inplace: true };

  readonly alpha: number;

  constructor(alpha?: number, options?: InplaceOptions);
  constructor(options: ELUOptions);
  constructor(...given: readonly unknown[]) {
    const { alpha = 1, inplace = false } = argumentsByName<ELUOptions>(
      new.target,
      ['alpha'],
      given,
    );
    super({ inplace });
    checkNumbers(new.target, { alpha });
    this.alpha = alpha;
  }

  override forward(input: Tensor): Tensor {
    return this.inplace ? elu_(input, { alpha: this.alpha }) : elu(input, { alpha: this.alpha });
  }

  override extraRepr(): string {
    return `alpha=${floatLiteral(this.alpha)}${this.inplace ? ', inplace=True' : ''}`;
  }
}

/** Options of `Softplus`. */
export interface SoftplusOptions {
  /** β, 1 by default. */
  readonly beta?: number;
  /** βx from which on the result is x, 20 by default. */
  readonly threshold?: number;
}

/** log(1 + e^{βx}) / β: `new Softplus(2)` or `{ beta: 2 }`. @see torch.nn.Softplus @throws invalid-argument */
export class Softplus extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: OptionNames<SoftplusOptions> = {
    beta: true,
    threshold: true,
  };

  readonly beta: number;
  readonly threshold: number;

  constructor(beta?: number, threshold?: number);
  constructor(options: SoftplusOptions);
  constructor(...given: readonly unknown[]) {
    super();
    const { beta = 1, threshold = 20 } = argumentsByName<SoftplusOptions>(
      new.target,
      ['beta', 'threshold'],
      given,
    );
    checkNumbers(new.target, { beta, threshold }, arguments);
    this.beta = beta;
    this.threshold = threshold;
  }

  override forward(input: Tensor): Tensor {
    return softplus(input, { beta: this.beta, threshold: this.threshold });
  }

  override extraRepr(): string {
    return `beta=${floatLiteral(this.beta)}, threshold=${floatLiteral(this.threshold)}`;
  }
}

/** x Φ(x), with the error function or its tanh approximation. @see torch.nn.GELU */
export class GELU extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<
    Record<keyof { readonly approximate?: GeluApproximation }, true>
  > = { approximate: true };

  readonly approximate: GeluApproximation;

  constructor(options: { readonly approximate?: GeluApproximation } = {}) {
    super();
    checkOptions(new.target, options);
    this.approximate = options.approximate ?? 'none';
  }

  override forward(input: Tensor): Tensor {
    return gelu(input, { approximate: this.approximate });
  }

  override extraRepr(): string {
    return `approximate='${this.approximate}'`;
  }
}

/** @see torch.nn.Tanh */
export class Tanh extends Module {
  override forward(input: Tensor): Tensor {
    return tanh(input);
  }
}

/** 1 / (1 + e⁻ˣ) @see torch.nn.Sigmoid */
export class Sigmoid extends Module {
  override forward(input: Tensor): Tensor {
    return sigmoid(input);
  }
}

/** Exponentials normalised along a dimension. @see torch.nn.Softmax */
export class Softmax extends Module {
  constructor(readonly dim: number) {
    super();
    checkNumbers(new.target, { dim }, arguments);
  }

  /** @throws invalid-dim */
  override forward(input: Tensor): Tensor {
    return softmax(input, this.dim);
  }

  override extraRepr(): string {
    return `dim=${this.dim}`;
  }
}

/** Logarithm of softmax. @see torch.nn.LogSoftmax */
export class LogSoftmax extends Module {
  constructor(readonly dim: number) {
    super();
    checkNumbers(new.target, { dim }, arguments);
  }

  /** @throws invalid-dim */
  override forward(input: Tensor): Tensor {
    return logSoftmax(input, this.dim);
  }

  override extraRepr(): string {
    return `dim=${this.dim}`;
  }
}
