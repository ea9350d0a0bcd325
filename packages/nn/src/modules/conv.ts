/**
 * @file `Conv1d`, `Conv2d` and `Conv3d`.
 */
import { TesseraError } from '@tessera/shared';
import { type PadMode, type Tensor, conv1d, conv2d, conv3d, empty, pad } from '@tessera/tensor';
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
  /** What the border holds: zeros (default), or what `pad` makes of the input. */
  readonly paddingMode?: PaddingMode;
}

/** What the border of a convolution holds. */
export type PaddingMode = 'zeros' | 'reflect' | 'replicate' | 'circular';

/** One value per spatial dimension. @throws invalid-argument */
export function perDimension(
  module: string,
  name: string,
  value: number | readonly number[],
  rank: number,
): readonly number[] {
  const list = typeof value === 'number' ? Array<number>(rank).fill(value) : [...value];
  if (list.length === rank) return list;
  throw new TesseraError(
    'invalid-argument',
    `${module}: ${name} must be a number or ${rank} numbers, not [${list.join(', ')}]`,
    { hints: [`Give one ${name} per spatial dimension.`] },
  );
}

/** @throws invalid-argument unless the groups divide both */
export function checkGroups(
  module: string,
  inChannels: number,
  outChannels: number,
  groups: number,
): void {
  if (groups > 0 && inChannels % groups === 0 && outChannels % groups === 0) return;
  throw new TesseraError(
    'invalid-argument',
    `${module}: inChannels (${inChannels}) and outChannels (${outChannels}) must be divisible by groups (${groups})`,
    { hints: ['Choose a number of groups that divides both.'] },
  );
}

/** What they have in common. */
abstract class Conv extends Module {
  readonly kernelSize: readonly number[];
  readonly stride: readonly number[];
  readonly padding: readonly number[] | 'same' | 'valid';
  readonly dilation: readonly number[];
  readonly groups: number;
  readonly paddingMode: PaddingMode;
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
    const {
      stride = 1,
      padding = 0,
      dilation = 1,
      groups = 1,
      bias = true,
      paddingMode = 'zeros',
      ...factory
    } = options;
    const list = (name: string, value: number | readonly number[]): readonly number[] =>
      perDimension(this.constructor.name, name, value, rank);
    this.kernelSize = list('kernelSize', kernelSize);
    this.stride = list('stride', stride);
    this.padding = typeof padding === 'string' ? padding : list('padding', padding);
    this.dilation = list('dilation', dilation);
    this.groups = groups;
    this.paddingMode = paddingMode;
    checkGroups(this.constructor.name, inChannels, outChannels, groups);
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

  /** Border (before, after) per dimension, the last dimension first. */
  private border(): number[] {
    const { padding, kernelSize, dilation } = this;
    if (padding === 'valid') return kernelSize.flatMap(() => [0, 0]);
    const pairs =
      padding === 'same'
        ? kernelSize.map((size, i) => {
            const total = dilation[i]! * (size - 1);
            return [Math.floor(total / 2), total - Math.floor(total / 2)];
          })
        : padding.map((size) => [size, size]);
    return pairs.reverse().flat();
  }

  /** The input with its border, and how much of one the convolution still adds. */
  protected bordered(input: Tensor): {
    readonly input: Tensor;
    readonly options: Parameters<typeof conv2d>[2];
  } {
    const { bias, stride, dilation, groups, paddingMode } = this;
    if (paddingMode === 'zeros')
      return { input, options: { bias, stride, padding: this.padding, dilation, groups } };
    const mode: PadMode = paddingMode;
    // An unbatched input gets its batch dimension here: circular padding counts dimensions from it.
    const border = this.border();
    const batched = input.ndim === border.length / 2 + 2;
    const padded = batched
      ? pad(input, border, { mode })
      : pad(input.unsqueeze(0), border, { mode }).squeeze(0);
    return { input: padded, options: { bias, stride, padding: 0, dilation, groups } };
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
    if (this.paddingMode !== 'zeros') parts.push(`padding_mode=${this.paddingMode}`);
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
    const { input: bordered, options } = this.bordered(input);
    return conv1d(bordered, this.weight, options);
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
    const { input: bordered, options } = this.bordered(input);
    return conv2d(bordered, this.weight, options);
  }
}

/** Convolution of [N, C, D, H, W]. @see torch.nn.Conv3d */
export class Conv3d extends Conv {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: number | readonly number[],
    options: ConvModuleOptions = {},
  ) {
    super(inChannels, outChannels, kernelSize, options, 3);
  }

  /** @throws shape-mismatch, dtype-mismatch */
  override forward(input: Tensor): Tensor {
    const { input: bordered, options } = this.bordered(input);
    return conv3d(bordered, this.weight, options);
  }
}

trustForward([Conv1d, Conv2d, Conv3d]);
