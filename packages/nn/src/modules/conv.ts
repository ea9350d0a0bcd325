/**
 * @file `Conv1d` and `Conv2d`.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, conv1d, conv2d, empty } from '@tessera/tensor';
import { kaimingUniform_ } from '../init/kaiming.js';
import { pythonLiteral } from '../module/module-repr.js';
import { Module } from '../module/module.js';
import { trustForward } from '../module/trust.js';
import { Parameter } from '../parameter.js';
import type { FactoryOptions } from './factory-options.js';
import { resetBias } from './linear.js';

/** Options of convolutions; a number stands for every spatial dimension. */
export interface ConvModuleOptions extends FactoryOptions {
  /** Step of the window (default 1). */
  readonly stride?: number | readonly number[];
  /** Zeros around the input (default 0); `same` keeps the spatial sizes. */
  readonly padding?: number | readonly number[] | 'same' | 'valid';
  /** Distance of the window's elements (default 1). */
  readonly dilation?: number | readonly number[];
  /** Groups of channels that do not mix (default 1). */
  readonly groups?: number;
  /** Whether a bias is added (default true). */
  readonly bias?: boolean;
}

/** What both have in common. */
abstract class Conv extends Module {
  readonly kernelSize: readonly number[];
  readonly stride: readonly number[];
  readonly padding: readonly number[] | 'same' | 'valid';
  readonly dilation: readonly number[];
  readonly groups: number;
  /** [out, in / groups, …kernel] */
  weight: Parameter;
  /** [out], or null. */
  bias: Parameter | null;

  /** @throws invalid-argument */
  constructor(
    readonly inChannels: number,
    readonly outChannels: number,
    kernelSize: number | readonly number[],
    options: ConvModuleOptions,
    rank: number,
  ) {
    super();
    const { stride = 1, padding = 0, dilation = 1, groups = 1, bias = true, ...factory } = options;
    const perDimension = (name: string, value: number | readonly number[]): readonly number[] => {
      const list = typeof value === 'number' ? Array<number>(rank).fill(value) : [...value];
      if (list.length === rank) return list;
      throw new TesseraError(
        'invalid-argument',
        `${this.constructor.name}: ${name} must be a number or ${rank} numbers, not [${list.join(', ')}]`,
        { hints: [`Give one ${name} per spatial dimension.`] },
      );
    };
    this.kernelSize = perDimension('kernelSize', kernelSize);
    this.stride = perDimension('stride', stride);
    this.padding = typeof padding === 'string' ? padding : perDimension('padding', padding);
    this.dilation = perDimension('dilation', dilation);
    this.groups = groups;
    if (!(groups > 0) || inChannels % groups !== 0 || outChannels % groups !== 0) {
      throw new TesseraError(
        'invalid-argument',
        `${this.constructor.name}: inChannels (${inChannels}) and outChannels (${outChannels}) must be divisible by groups (${groups})`,
        { hints: ['Choose a number of groups that divides both.'] },
      );
    }
    this.weight = new Parameter(
      empty([outChannels, inChannels / groups, ...this.kernelSize], factory),
    );
    this.bias = bias ? new Parameter(empty([outChannels], factory)) : null;
    this.resetParameters();
  }

  /** Draws new values: uniform within ±1/√fanIn. */
  resetParameters(): void {
    kaimingUniform_(this.weight, { a: Math.sqrt(5) });
    if (this.bias !== null) resetBias(this.weight, this.bias);
  }

  override extraRepr(): string {
    const differs = (list: readonly number[], from: number): boolean =>
      list.some((value) => value !== from);
    const parts = [
      `${this.inChannels}, ${this.outChannels}`,
      `kernel_size=${pythonLiteral(this.kernelSize)}`,
      `stride=${pythonLiteral(this.stride)}`,
    ];
    if (typeof this.padding === 'string') parts.push(`padding=${this.padding}`);
    else if (differs(this.padding, 0)) parts.push(`padding=${pythonLiteral(this.padding)}`);
    if (differs(this.dilation, 1)) parts.push(`dilation=${pythonLiteral(this.dilation)}`);
    if (this.groups !== 1) parts.push(`groups=${this.groups}`);
    if (this.bias === null) parts.push('bias=False');
    return parts.join(', ');
  }
}

/** Convolution of [N, C, L]. @see torch.nn.Conv1d */
export class Conv1d extends Conv {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: number | readonly number[],
    options: ConvModuleOptions = {},
  ) {
    super(inChannels, outChannels, kernelSize, options, 1);
  }

  /** @throws shape-mismatch, dtype-mismatch */
  override forward(input: Tensor): Tensor {
    return conv1d(input, this.weight, {
      bias: this.bias,
      stride: this.stride,
      padding: this.padding,
      dilation: this.dilation,
      groups: this.groups,
    });
  }
}

/** Convolution of [N, C, H, W]. @see torch.nn.Conv2d */
export class Conv2d extends Conv {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: number | readonly number[],
    options: ConvModuleOptions = {},
  ) {
    super(inChannels, outChannels, kernelSize, options, 2);
  }

  /** @throws shape-mismatch, dtype-mismatch */
  override forward(input: Tensor): Tensor {
    return conv2d(input, this.weight, {
      bias: this.bias,
      stride: this.stride,
      padding: this.padding,
      dilation: this.dilation,
      groups: this.groups,
    });
  }
}

for (const conv of [Conv1d, Conv2d]) trustForward(conv);
