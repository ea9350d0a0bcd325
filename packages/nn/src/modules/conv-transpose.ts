/**
 * @file `ConvTranspose1d`, `ConvTranspose2d` and `ConvTranspose3d`: convolutions that grow their input.
 */
import { TesseraError } from '@tessera/shared';
import {
  type Tensor,
  convTranspose1d,
  convTranspose2d,
  convTranspose3d,
  empty,
} from '@tessera/tensor';
import { kaimingUniform_ } from '../init/kaiming.js';
import { pythonLiteral } from '../module/module-repr.js';
import { Module } from '../module/module.js';
import { trustForward } from '../module/trust.js';
import { Parameter } from '../parameter.js';
import { checkGroups, perDimension } from './conv.js';
import type { FactoryOptions } from './factory-options.js';
import { resetBias } from './linear.js';

/** Options of transposed convolutions; a number stands for every spatial dimension. */
export interface ConvTransposeModuleOptions extends FactoryOptions {
  /** Step of the window in the result (default 1). */
  readonly stride?: number | readonly number[];
  /** How much of the result's border is cut off (default 0). */
  readonly padding?: number | readonly number[];
  /** Added to the end of the result (default 0). */
  readonly outputPadding?: number | readonly number[];
  /** Distance of the window's elements (default 1). */
  readonly dilation?: number | readonly number[];
  /** Groups of channels that do not mix (default 1). */
  readonly groups?: number;
  /** Whether a bias is added (default true). */
  readonly bias?: boolean;
}

/** What they have in common. */
abstract class ConvTranspose extends Module {
  readonly kernelSize: readonly number[];
  readonly stride: readonly number[];
  readonly padding: readonly number[];
  readonly outputPadding: readonly number[];
  readonly dilation: readonly number[];
  readonly groups: number;
  /** [in, out / groups, …kernel] */
  weight: Parameter;
  /** [out], or null. */
  bias: Parameter | null;

  /** @throws invalid-argument */
  constructor(
    readonly inChannels: number,
    readonly outChannels: number,
    kernelSize: number | readonly number[],
    options: ConvTransposeModuleOptions,
    rank: number,
  ) {
    super();
    const {
      stride = 1,
      padding = 0,
      outputPadding = 0,
      dilation = 1,
      groups = 1,
      bias = true,
      ...factory
    } = options;
    const list = (name: string, value: number | readonly number[]): readonly number[] =>
      perDimension(this.constructor.name, name, value, rank);
    this.kernelSize = list('kernelSize', kernelSize);
    this.stride = list('stride', stride);
    this.padding = list('padding', padding);
    this.outputPadding = list('outputPadding', outputPadding);
    this.dilation = list('dilation', dilation);
    this.groups = groups;
    checkGroups(this.constructor.name, inChannels, outChannels, groups);
    this.weight = new Parameter(
      empty([inChannels, outChannels / groups, ...this.kernelSize], factory),
    );
    this.bias = bias ? new Parameter(empty([outChannels], factory)) : null;
    this.resetParameters();
  }

  /** Draws new values: uniform within ±1/√fanIn. */
  resetParameters(): void {
    kaimingUniform_(this.weight, { a: Math.sqrt(5) });
    if (this.bias !== null) resetBias(this.weight, this.bias);
  }

  /** Options of the operator; a wanted size decides what is added to the end. @throws shape-mismatch */
  protected options(
    input: Tensor,
    outputSize: readonly number[] | null,
  ): Parameters<typeof convTranspose2d>[2] {
    const { bias, stride, padding, dilation, groups } = this;
    const outputPadding =
      outputSize === null ? this.outputPadding : this.paddingFor(input, outputSize);
    return { bias, stride, padding, outputPadding, dilation, groups };
  }

  private paddingFor(input: Tensor, outputSize: readonly number[]): number[] {
    const rank = this.kernelSize.length;
    const wanted = outputSize.slice(-rank);
    const smallest = this.kernelSize.map(
      (kernel, i) =>
        (input.sizes.at(i - rank)! - 1) * this.stride[i]! -
        2 * this.padding[i]! +
        this.dilation[i]! * (kernel - 1) +
        1,
    );
    const extra = smallest.map((size, i) => wanted[i]! - size);
    if (
      (outputSize.length === rank || outputSize.length === input.ndim) &&
      extra.every((size, i) => size >= 0 && size < Math.max(this.stride[i]!, 1))
    )
      return extra;
    throw new TesseraError(
      'shape-mismatch',
      `requested an output size of [${outputSize.join(', ')}], but valid sizes range from [${smallest.join(', ')}] to [${smallest.map((size, i) => size + this.stride[i]! - 1).join(', ')}]`,
      { hints: ['Leave outputSize out, or choose one within this range.'] },
    );
  }

  override extraRepr(): string {
    const differs = (list: readonly number[], from: number): boolean =>
      list.some((value) => value !== from);
    const parts = [
      `${this.inChannels}, ${this.outChannels}`,
      `kernel_size=${pythonLiteral(this.kernelSize)}`,
      `stride=${pythonLiteral(this.stride)}`,
    ];
    if (differs(this.padding, 0)) parts.push(`padding=${pythonLiteral(this.padding)}`);
    if (differs(this.dilation, 1)) parts.push(`dilation=${pythonLiteral(this.dilation)}`);
    if (differs(this.outputPadding, 0))
      parts.push(`output_padding=${pythonLiteral(this.outputPadding)}`);
    if (this.groups !== 1) parts.push(`groups=${this.groups}`);
    if (this.bias === null) parts.push('bias=False');
    return parts.join(', ');
  }
}

/** Transposed convolution of [N, C, L]. @see torch.nn.ConvTranspose1d */
export class ConvTranspose1d extends ConvTranspose {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: number | readonly number[],
    options: ConvTransposeModuleOptions = {},
  ) {
    super(inChannels, outChannels, kernelSize, options, 1);
  }

  /** @throws shape-mismatch, dtype-mismatch */
  override forward(input: Tensor, outputSize: readonly number[] | null = null): Tensor {
    return convTranspose1d(input, this.weight, this.options(input, outputSize));
  }
}

/** Transposed convolution of [N, C, H, W]. @see torch.nn.ConvTranspose2d */
export class ConvTranspose2d extends ConvTranspose {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: number | readonly number[],
    options: ConvTransposeModuleOptions = {},
  ) {
    super(inChannels, outChannels, kernelSize, options, 2);
  }

  /** @throws shape-mismatch, dtype-mismatch */
  override forward(input: Tensor, outputSize: readonly number[] | null = null): Tensor {
    return convTranspose2d(input, this.weight, this.options(input, outputSize));
  }
}

/** Transposed convolution of [N, C, D, H, W]. @see torch.nn.ConvTranspose3d */
export class ConvTranspose3d extends ConvTranspose {
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: number | readonly number[],
    options: ConvTransposeModuleOptions = {},
  ) {
    super(inChannels, outChannels, kernelSize, options, 3);
  }

  /** @throws shape-mismatch, dtype-mismatch */
  override forward(input: Tensor, outputSize: readonly number[] | null = null): Tensor {
    return convTranspose3d(input, this.weight, this.options(input, outputSize));
  }
}

trustForward([ConvTranspose1d, ConvTranspose2d, ConvTranspose3d]);
