/**
 * @file `Conv1d`, `Conv2d` and `Conv3d`.
 */
import { checkOptions } from '../module/check-options.js';
import { TesseraError } from '@tessera/shared';
import { type PadMode, type Tensor, pad } from '@tessera/tensor';
import { conv1d, conv2d, conv3d } from '@tessera/tensor/internal';
import { ConvBase, type ConvBaseOptions, type PerDimension } from './conv-base.js';

/** Options of convolutions; a number stands for every spatial dimension. */
export interface ConvModuleOptions extends ConvBaseOptions {
  /** Zeros around the input (default 0); `same` keeps the spatial sizes. */
  readonly padding?: PerDimension | 'same' | 'valid';
  /** What the border holds: zeros (default), or what `pad` makes of the input. */
  readonly paddingMode?: PaddingMode;
}

/** What the border of a convolution holds. */
export type PaddingMode = 'zeros' | 'reflect' | 'replicate' | 'circular';

const PADDING_MODES: readonly string[] = ['zeros', 'reflect', 'replicate', 'circular'];

/** What they have in common. */
abstract class Conv extends ConvBase<readonly number[] | 'same' | 'valid'> {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof ConvModuleOptions, true>> = {
    stride: true,
    padding: true,
    dilation: true,
    groups: true,
    bias: true,
    paddingMode: true,
    device: true,
    dtype: true,
  };

  readonly paddingMode: PaddingMode;

  /** @throws invalid-argument */
  constructor(
    inChannels: number,
    outChannels: number,
    kernelSize: PerDimension,
    options: ConvModuleOptions = {},
  ) {
    checkOptions(new.target, options);
    const { paddingMode = 'zeros', ...rest } = options;
    super(inChannels, outChannels, kernelSize, { ...rest, transposed: false });
    if (!PADDING_MODES.includes(paddingMode)) {
      throw new TesseraError(
        'invalid-argument',
        `${this.constructor.name}: paddingMode must be one of ${PADDING_MODES.join(', ')}, not '${String(paddingMode)}'`,
        { hints: ["Leave it out for 'zeros'."] },
      );
    }
    this.paddingMode = paddingMode;
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
    const { paddingMode } = this;
    return `${super.extraRepr()}${paddingMode === 'zeros' ? '' : `, padding_mode=${paddingMode}`}`;
  }
}

/** Convolution of [N, C, L]. @see torch.nn.Conv1d */
export class Conv1d extends Conv {
  protected override get rank(): number {
    return 1;
  }

  /** @throws shape-mismatch, dtype-mismatch */
  override forward(input: Tensor): Tensor {
    const { input: bordered, options } = this.bordered(input);
    return conv1d(bordered, this.weight, options);
  }
}

/** Convolution of [N, C, H, W]. @see torch.nn.Conv2d */
export class Conv2d extends Conv {
  protected override get rank(): number {
    return 2;
  }

  /** @throws shape-mismatch, dtype-mismatch */
  override forward(input: Tensor): Tensor {
    const { input: bordered, options } = this.bordered(input);
    return conv2d(bordered, this.weight, options);
  }
}

/** Convolution of [N, C, D, H, W]. @see torch.nn.Conv3d */
export class Conv3d extends Conv {
  protected override get rank(): number {
    return 3;
  }

  /** @throws shape-mismatch, dtype-mismatch */
  override forward(input: Tensor): Tensor {
    const { input: bordered, options } = this.bordered(input);
    return conv3d(bordered, this.weight, options);
  }
}
