/**
 * @file `Fold` and `Unfold`: sliding blocks of images as columns.
 */
import type { Tensor } from '@tessera/tensor';
import { type FoldOptions, fold, unfold } from '../functional/fold.js';
import { pythonLiteral } from '../module/module-repr.js';
import { checkOptions, checkSizes } from '../module/check-options.js';
import { Module } from '../module/module.js';

/** What both have in common. */
abstract class Blocks extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof FoldOptions, true>> = {
    dilation: true,
    padding: true,
    stride: true,
  };

  readonly dilation: number | readonly number[];
  readonly padding: number | readonly number[];
  readonly stride: number | readonly number[];

  constructor(
    readonly kernelSize: number | readonly number[],
    options: FoldOptions,
  ) {
    super();
    checkOptions(new.target, options);
    this.dilation = options.dilation ?? 1;
    this.padding = options.padding ?? 0;
    this.stride = options.stride ?? 1;
  }

  protected get options(): FoldOptions {
    return { dilation: this.dilation, padding: this.padding, stride: this.stride };
  }

  override extraRepr(): string {
    return `kernel_size=${pythonLiteral(this.kernelSize)}, dilation=${pythonLiteral(this.dilation)}, padding=${pythonLiteral(this.padding)}, stride=${pythonLiteral(this.stride)}`;
  }
}

/** Blocks of [N, C, H, W] as columns [N, C · kernel, blocks]. @see torch.nn.Unfold */
export class Unfold extends Blocks {
  constructor(kernelSize: number | readonly number[], options: FoldOptions = {}) {
    super(kernelSize, options);
    checkSizes(new.target, { kernelSize });
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    return unfold(input, this.kernelSize, this.options);
  }
}

/** Columns [N, C · kernel, blocks] summed into images [N, C, H, W]. @see torch.nn.Fold */
export class Fold extends Blocks {
  constructor(
    readonly outputSize: number | readonly number[],
    kernelSize: number | readonly number[],
    options: FoldOptions = {},
  ) {
    super(kernelSize, options);
    checkSizes(new.target, { outputSize, kernelSize });
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    return fold(input, this.outputSize, this.kernelSize, this.options);
  }

  override extraRepr(): string {
    return `output_size=${pythonLiteral(this.outputSize)}, ${super.extraRepr()}`;
  }
}
