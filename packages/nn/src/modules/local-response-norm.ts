/**
 * @file `LocalResponseNorm`: channels divided by what their neighbours are.
 */
import { type Tensor, reshape } from '@tessera/tensor';
import { avgPool3d, constantPad } from '@tessera/tensor/internal';
import { pythonLiteral, floatLiteral } from '../module/module-repr.js';
import { checkOptions } from '../module/check-options.js';
import { Module } from '../module/module.js';
import { trustForward } from '../module/trust.js';

/** Options of `LocalResponseNorm`. */
export interface LocalResponseNormOptions {
  /** Default 1e-4. */
  readonly alpha?: number;
  /** Default 0.75. */
  readonly beta?: number;
  /** Default 1. */
  readonly k?: number;
}

/** input / (k + α · mean of squares of `size` neighbouring channels)^β, [N, C, …]. @see torch.nn.LocalResponseNorm */
export class LocalResponseNorm extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof LocalResponseNormOptions, true>> = {
    alpha: true,
    beta: true,
    k: true,
  };

  readonly alpha: number;
  readonly beta: number;
  readonly k: number;

  constructor(
    readonly size: number,
    options: LocalResponseNormOptions = {},
  ) {
    super();
    checkOptions(new.target, options);
    this.alpha = options.alpha ?? 1e-4;
    this.beta = options.beta ?? 0.75;
    this.k = options.k ?? 1;
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    const { size } = this;
    const [n, channels] = input.sizes as [number, number];
    // Channels are the depth of a volume of one channel.
    const squares = reshape(input.mul(input), [n, 1, channels, -1, 1]);
    const padded = constantPad(squares, [
      0,
      0,
      0,
      0,
      Math.floor(size / 2),
      Math.floor((size - 1) / 2),
    ]);
    const means = reshape(avgPool3d(padded, [size, 1, 1], { stride: 1 }), input.sizes);
    return input.div(means.mul(this.alpha).add(this.k).pow(this.beta));
  }

  override extraRepr(): string {
    return `${this.size}, alpha=${pythonLiteral(this.alpha)}, beta=${pythonLiteral(this.beta)}, k=${floatLiteral(this.k)}`;
  }
}

trustForward([LocalResponseNorm]);
