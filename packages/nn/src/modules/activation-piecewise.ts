/**
 * @file Activations made of straight pieces, as modules.
 */
import { TesseraError } from '@tessera/shared';
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
import { checkNumbers } from '../module/check-options.js';
import { Module } from '../module/module.js';
import { InplaceActivation, type InplaceOptions } from './activation.js';

/** x within [minVal, maxVal], the nearer bound outside. @see torch.nn.Hardtanh */
export class Hardtanh extends InplaceActivation {
  constructor(
    readonly minVal = -1,
    readonly maxVal = 1,
    options: InplaceOptions = {},
  ) {
    super(options);
    checkNumbers(new.target, { minVal, maxVal });
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

/** x, or 0 within ±lambd. @see torch.nn.Hardshrink */
export class Hardshrink extends Module {
  constructor(readonly lambd = 0.5) {
    super();
    checkNumbers(new.target, { lambd }, arguments);
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
  constructor(readonly lambd = 0.5) {
    super();
    checkNumbers(new.target, { lambd }, arguments);
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

/** x, or a slope below zero: random per element in training, the middle in evaluation. @see torch.nn.RReLU */
export class RReLU extends InplaceActivation {
  constructor(
    readonly lower: number = 1 / 8,
    readonly upper: number = 1 / 3,
    options: InplaceOptions = {},
  ) {
    super(options);
    checkNumbers(new.target, { lower, upper });
  }

  override forward(input: Tensor): Tensor {
    const { lower, upper, training, inplace } = this;
    return rrelu(input, { lower, upper, training, inplace });
  }

  override extraRepr(): string {
    return `lower=${pythonLiteral(this.lower)}, upper=${pythonLiteral(this.upper)}${this.inplace ? ', inplace=True' : ''}`;
  }
}
