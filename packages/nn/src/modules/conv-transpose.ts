/**
 * @file `ConvTranspose1d`, `ConvTranspose2d` and `ConvTranspose3d`: convolutions that grow their input.
 */
import { checkOptions } from '../module/check-options.js';
import { TesseraError } from '@tessera/shared';
import { type Tensor } from '@tessera/tensor';
import {
  convTranspose1d,
  convTranspose2d,
  convTranspose3d,
  checkTensors,
} from '@tessera/tensor/internal';
import { ConvBase, type ConvBaseOptions, type PerDimension } from './conv-base.js';

/** Options of transposed convolutions; a number stands for every spatial dimension. */
export interface ConvTransposeModuleOptions extends ConvBaseOptions {
  /** How much of the result's border is cut off (default 0). */
  readonly padding?: PerDimension;
  /** Added to the end of the result (default 0). */
  readonly outputPadding?: PerDimension;
}

/** What they have in common. */
abstract class ConvTranspose extends ConvBase<readonly number[]> {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof ConvTransposeModuleOptions, true>> = {
    stride: true,
    padding: true,
    outputPadding: true,
    groups: true,
    bias: true,
    dilation: true,
    device: true,
    dtype: true,
  };

  readonly outputPadding: readonly number[];

  /** @throws invalid-argument */
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: PerDimension,
    options: ConvTransposeModuleOptions = {},
  ) {
    checkOptions(new.target, options);
    const { outputPadding = 0, ...rest } = options;
    super(inChannels, outChannels, kernelSize, { ...rest, transposed: true });
    this.outputPadding = this.perDimension('outputPadding', outputPadding);
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
    checkTensors(this.constructor.name, { input });
    const rank = this.kernelSize.length;
    const wanted = Array.isArray(outputSize) ? outputSize.slice(-rank) : [];
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
      `requested an output size of [${String(outputSize)}], but valid sizes range from [${smallest.join(', ')}] to [${smallest.map((size, i) => size + this.stride[i]! - 1).join(', ')}]`,
      { hints: ['Leave outputSize out, or choose one within this range.'] },
    );
  }

  protected override reprOfKind(): string[] {
    return this.reprUnless(0, 'output_padding', this.outputPadding);
  }
}

/** Transposed convolution of [N, C, L]. @see torch.nn.ConvTranspose1d */
export class ConvTranspose1d extends ConvTranspose {
  protected override get rank(): number {
    return 1;
  }

  /** @throws shape-mismatch, dtype-mismatch */
  override forward(input: Tensor, outputSize: readonly number[] | null = null): Tensor {
    return convTranspose1d(input, this.weight, this.options(input, outputSize));
  }
}

/** Transposed convolution of [N, C, H, W]. @see torch.nn.ConvTranspose2d */
export class ConvTranspose2d extends ConvTranspose {
  protected override get rank(): number {
    return 2;
  }

  /** @throws shape-mismatch, dtype-mismatch */
  override forward(input: Tensor, outputSize: readonly number[] | null = null): Tensor {
    return convTranspose2d(input, this.weight, this.options(input, outputSize));
  }
}

/** Transposed convolution of [N, C, D, H, W]. @see torch.nn.ConvTranspose3d */
export class ConvTranspose3d extends ConvTranspose {
  protected override get rank(): number {
    return 3;
  }

  /** @throws shape-mismatch, dtype-mismatch */
  override forward(input: Tensor, outputSize: readonly number[] | null = null): Tensor {
    return convTranspose3d(input, this.weight, this.options(input, outputSize));
  }
}
