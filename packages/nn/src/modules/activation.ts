/**
 * @file Activations as modules.
 */
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
import { checkNumbers, checkOptions } from '../module/check-options.js';
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

/** x, or a small slope below zero. @see torch.nn.LeakyReLU */
export class LeakyReLU extends InplaceActivation {
  constructor(
    readonly negativeSlope = 0.01,
    options: InplaceOptions = {},
  ) {
    super(options);
    checkNumbers(new.target, { negativeSlope });
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

/** x, or α (eˣ - 1) below zero. @see torch.nn.ELU */
export class ELU extends InplaceActivation {
  constructor(
    readonly alpha = 1,
    options: InplaceOptions = {},
  ) {
    super(options);
    checkNumbers(new.target, { alpha });
  }

  override forward(input: Tensor): Tensor {
    return this.inplace ? elu_(input, { alpha: this.alpha }) : elu(input, { alpha: this.alpha });
  }

  override extraRepr(): string {
    return `alpha=${floatLiteral(this.alpha)}${this.inplace ? ', inplace=True' : ''}`;
  }
}

/** log(1 + e^{βx}) / β @see torch.nn.Softplus */
export class Softplus extends Module {
  constructor(
    readonly beta = 1,
    readonly threshold = 20,
  ) {
    super();
    checkNumbers(new.target, { beta, threshold }, arguments);
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
