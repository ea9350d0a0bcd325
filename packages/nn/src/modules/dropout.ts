/**
 * @file `Dropout`: random elements set to zero in training.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, dropout, dropout_ } from '@tessera/tensor';
import { floatLiteral, pythonLiteral } from '../module/module-repr.js';
import { Module } from '../module/module.js';
import { trustForward } from '../module/trust.js';
import type { InplaceOptions } from './activation.js';

/** Zeroes elements with probability p and scales the rest by 1 / (1 - p). @see torch.nn.Dropout */
export class Dropout extends Module {
  readonly inplace: boolean;

  /** @throws invalid-argument unless 0 ≤ p ≤ 1 */
  constructor(
    readonly p = 0.5,
    options: InplaceOptions = {},
  ) {
    super();
    if (!(p >= 0 && p <= 1))
      throw new TesseraError(
        'invalid-argument',
        `dropout probability has to be between 0 and 1, but got ${p}`,
        { hints: ['p is the share of elements set to zero.'] },
      );
    this.inplace = options.inplace ?? false;
  }

  override forward(input: Tensor): Tensor {
    return this.inplace
      ? dropout_(input, this.p, this.training)
      : dropout(input, this.p, this.training);
  }

  override extraRepr(): string {
    return `p=${floatLiteral(this.p)}, inplace=${pythonLiteral(this.inplace)}`;
  }
}

trustForward(Dropout);
