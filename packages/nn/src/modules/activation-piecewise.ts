/**
 * @file Activations made of straight pieces, as modules.
 */
import { type OptionNames, TesseraError } from '@tessera/shared';
import {
  type Tensor,
  hardshrink,
  hardsigmoid,
  hardtanh,
  softshrink,
  threshold,
} from '@tessera/tensor';
import { hardsigmoid_, hardtanh_, threshold_ } from '@tessera/tensor/internal';
import { rrelu } from '../functional/rrelu.js';
import { floatLiteral, pythonLiteral } from '../module/module-repr.js';
import { argumentsByName, checkNumbers } from '../module/check-options.js';
import { Module } from '../module/module.js';
import { InplaceActivation, type InplaceOptions } from './activation.js';

/** Options of `Hardtanh`. */
export interface HardtanhOptions extends InplaceOptions {
  /** The lower bound, -1 by default. */
  readonly minVal?: number;
  /** The upper bound, 1 by default. */
  readonly maxVal?: number;
}

const HARDTANH: OptionNames<HardtanhOptions> = { minVal: true, maxVal: true, inplace: true };

/**
 * x within [minVal, maxVal], the nearer bound outside: `new Hardtanh(-2, 2)` or `{ minVal: -2, maxVal: 2 }`.
 *
 * @see torch.nn.Hardtanh
 * @throws invalid-argument
 */
export class Hardtanh extends InplaceActivation {
  static override readonly optionNames: OptionNames<InplaceOptions> = HARDTANH;

  readonly minVal: number;
  readonly maxVal: number;

  constructor(minVal?: number, maxVal?: number, options?: InplaceOptions);
  constructor(options: HardtanhOptions);
  constructor(...given: readonly unknown[]) {
    const {
      minVal = -1,
      maxVal = 1,
      inplace = false,
    } = argumentsByName<HardtanhOptions>(new.target, ['minVal', 'maxVal'], given);
    super({ inplace });
    checkNumbers(new.target, { minVal, maxVal });
    this.minVal = minVal;
    this.maxVal = maxVal;
    if (!(maxVal > minVal))
      throw new TesseraError(
        'invalid-argument',
        `Hardtanh: max_val (${maxVal}) must be greater than min_val (${minVal})`,
        { hints: ['Write new Hardtanh(minVal, maxVal).'] },
      );
  }

  override forward(input: Tensor): Tensor {
    return this.inplace
      ? hardtanh_(input, { minVal: this.minVal, maxVal: this.maxVal })
      : hardtanh(input, { minVal: this.minVal, maxVal: this.maxVal });
  }

  override extraRepr(): string {
    return `min_val=${floatLiteral(this.minVal)}, max_val=${floatLiteral(this.maxVal)}${this.inplace ? ', inplace=True' : ''}`;
  }
}

/** min(max(x, 0), 6) @see torch.nn.ReLU6 */
export class ReLU6 extends Hardtanh {
  static override readonly optionNames: OptionNames<InplaceOptions> = { inplace: true };

  constructor(options: InplaceOptions = {}) {
    super(0, 6, options);
  }

  override extraRepr(): string {
    return this.inplace ? 'inplace=True' : '';
  }
}

/** relu6(x + 3) / 6 @see torch.nn.Hardsigmoid */
export class Hardsigmoid extends InplaceActivation {
  override forward(input: Tensor): Tensor {
    return this.inplace ? hardsigmoid_(input) : hardsigmoid(input);
  }

  override extraRepr(): string {
    return '';
  }
}

/** Options of `Hardshrink` and `Softshrink`. */
export interface ShrinkOptions {
  /** Half the width of what becomes 0, 0.5 by default. */
  readonly lambd?: number;
}

/** x, or 0 within ±lambd. @see torch.nn.Hardshrink */
export class Hardshrink extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: OptionNames<ShrinkOptions> = { lambd: true };

  readonly lambd: number;

  constructor(lambd?: number);
  constructor(options: ShrinkOptions);
  constructor(...given: readonly unknown[]) {
    super();
    const { lambd = 0.5 } = argumentsByName<ShrinkOptions>(new.target, ['lambd'], given);
    checkNumbers(new.target, { lambd }, arguments);
    this.lambd = lambd;
  }

  override forward(input: Tensor): Tensor {
    return hardshrink(input, { lambd: this.lambd });
  }

  override extraRepr(): string {
    return String(this.lambd);
  }
}

/** x moved towards 0 by lambd, 0 within. @see torch.nn.Softshrink */
export class Softshrink extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: OptionNames<ShrinkOptions> = { lambd: true };

  readonly lambd: number;

  constructor(lambd?: number);
  constructor(options: ShrinkOptions);
  constructor(...given: readonly unknown[]) {
    super();
    const { lambd = 0.5 } = argumentsByName<ShrinkOptions>(new.target, ['lambd'], given);
    checkNumbers(new.target, { lambd }, arguments);
    this.lambd = lambd;
  }

  /** @throws invalid-argument for negative lambd */
  override forward(input: Tensor): Tensor {
    return softshrink(input, { lambd: this.lambd });
  }

  override extraRepr(): string {
    return String(this.lambd);
  }
}

/** x above a threshold, `value` elsewhere. @see torch.nn.Threshold */
export class Threshold extends InplaceActivation {
  constructor(
    readonly threshold: number,
    readonly value: number,
    options: InplaceOptions = {},
  ) {
    super(options);
    checkNumbers(new.target, { threshold, value });
  }

  override forward(input: Tensor): Tensor {
    return this.inplace
      ? threshold_(input, this.threshold, this.value)
      : threshold(input, this.threshold, this.value);
  }

  override extraRepr(): string {
    return `threshold=${pythonLiteral(this.threshold)}, value=${pythonLiteral(this.value)}${this.inplace ? ', inplace=True' : ''}`;
  }
}

/** Options of `RReLU`. */
export interface RReLUOptions extends InplaceOptions {
  /** The least slope, 1/8 by default. */
  readonly lower?: number;
  /** The greatest slope, 1/3 by default. */
  readonly upper?: number;
}

/**
 * x, or a slope below zero: random per element in training, the middle in evaluation. `new RReLU(0.1, 0.3)` or
 * `{ lower: 0.1, upper: 0.3 }`.
 *
 * @see torch.nn.RReLU
 * @throws invalid-argument
 */
export class RReLU extends InplaceActivation {
  static override readonly optionNames: OptionNames<RReLUOptions> = {
    lower: true,
    upper: true,
    inplace: true,
  };

  readonly lower: number;
  readonly upper: number;

  constructor(lower?: number, upper?: number, options?: InplaceOptions);
  constructor(options: RReLUOptions);
  constructor(...given: readonly unknown[]) {
    const {
      lower = 1 / 8,
      upper = 1 / 3,
      inplace = false,
    } = argumentsByName<RReLUOptions>(new.target, ['lower', 'upper'], given);
    super({ inplace });
    checkNumbers(new.target, { lower, upper });
    this.lower = lower;
    this.upper = upper;
  }

  override forward(input: Tensor): Tensor {
    const { lower, upper, training, inplace } = this;
    return rrelu(input, { lower, upper, training, inplace });
  }

  override extraRepr(): string {
    return `lower=${pythonLiteral(this.lower)}, upper=${pythonLiteral(this.upper)}${this.inplace ? ', inplace=True' : ''}`;
  }
}
