/**
 * @file Resizing and shuffling of pixels and channels, as modules.
 */
import { type Tensor, channelShuffle, pixelShuffle, pixelUnshuffle } from '@tessera/tensor';
import { type InterpolationMode, interpolate } from '../functional/interpolate.js';
import { floatLiteral, pythonLiteral } from '../module/module-repr.js';
import { checkNumbers, checkOptions } from '../module/check-options.js';
import { Module } from '../module/module.js';

/** Options of `Upsample`: exactly one of size and scaleFactor. */
export interface UpsampleModuleOptions {
  /** Spatial sizes of the result; a number stands for all. */
  readonly size?: number | readonly number[] | null;
  /** How many times larger the result is; a number stands for all dimensions. */
  readonly scaleFactor?: number | readonly number[] | null;
  /** Default `nearest`. */
  readonly mode?: InterpolationMode;
  /** Whether the corner elements of input and result fall together (default false). */
  readonly alignCorners?: boolean | null;
  /** Whether the scale is computed again from the rounded size (default false). */
  readonly recomputeScaleFactor?: boolean | null;
}

/** [N, C, …] in another size. @see torch.nn.Upsample */
export class Upsample extends Module {
  /** Names of the constructor's options. */
  static readonly optionNames: Readonly<Record<keyof UpsampleModuleOptions, true>> = {
    size: true,
    scaleFactor: true,
    mode: true,
    alignCorners: true,
    recomputeScaleFactor: true,
  };

  readonly size: number | readonly number[] | null;
  readonly scaleFactor: number | readonly number[] | null;
  readonly mode: InterpolationMode;
  readonly alignCorners: boolean | null;
  readonly recomputeScaleFactor: boolean | null;

  constructor(options: UpsampleModuleOptions = {}) {
    super();
    checkOptions(new.target, options);
    this.size = options.size ?? null;
    this.scaleFactor = options.scaleFactor ?? null;
    this.mode = options.mode ?? 'nearest';
    this.alignCorners = options.alignCorners ?? null;
    this.recomputeScaleFactor = options.recomputeScaleFactor ?? null;
  }

  /** @throws invalid-argument, shape-mismatch */
  override forward(input: Tensor): Tensor {
    const { size, scaleFactor, mode, alignCorners, recomputeScaleFactor } = this;
    return interpolate(input, { size, scaleFactor, mode, alignCorners, recomputeScaleFactor });
  }

  override extraRepr(): string {
    const factors = (value: number | readonly number[]): string =>
      typeof value === 'number' ? floatLiteral(value) : `(${value.map(floatLiteral).join(', ')})`;
    const first =
      this.scaleFactor === null
        ? `size=${pythonLiteral(this.size)}`
        : `scale_factor=${factors(this.scaleFactor)}`;
    return `${first}, mode=${pythonLiteral(this.mode)}`;
  }
}

/** [N, C, H, W] in another size, each pixel the nearest one. @see torch.nn.UpsamplingNearest2d */
export class UpsamplingNearest2d extends Upsample {
  constructor(options: Pick<UpsampleModuleOptions, 'size' | 'scaleFactor'> = {}) {
    super({ ...options, mode: 'nearest' });
    checkOptions(
      { name: new.target.name, optionNames: { size: true, scaleFactor: true } },
      options,
    );
  }
}

/** [N, C, H, W] in another size, linear between pixels, corners aligned. @see torch.nn.UpsamplingBilinear2d */
export class UpsamplingBilinear2d extends Upsample {
  constructor(options: Pick<UpsampleModuleOptions, 'size' | 'scaleFactor'> = {}) {
    super({ ...options, mode: 'bilinear', alignCorners: true });
    checkOptions(
      { name: new.target.name, optionNames: { size: true, scaleFactor: true } },
      options,
    );
  }
}

/** […, C r², H, W] → […, C, H r, W r] @see torch.nn.PixelShuffle @see https://arxiv.org/abs/1609.05158 */
export class PixelShuffle extends Module {
  constructor(readonly upscaleFactor: number) {
    super();
    checkNumbers(new.target, { upscaleFactor }, arguments);
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    return pixelShuffle(input, this.upscaleFactor);
  }

  override extraRepr(): string {
    return `upscale_factor=${this.upscaleFactor}`;
  }
}

/** […, C, H r, W r] → […, C r², H, W] @see torch.nn.PixelUnshuffle */
export class PixelUnshuffle extends Module {
  constructor(readonly downscaleFactor: number) {
    super();
    checkNumbers(new.target, { downscaleFactor }, arguments);
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    return pixelUnshuffle(input, this.downscaleFactor);
  }

  override extraRepr(): string {
    return `downscale_factor=${this.downscaleFactor}`;
  }
}

/** Channels of all groups taken in turn. @see torch.nn.ChannelShuffle @see https://arxiv.org/abs/1707.01083 */
export class ChannelShuffle extends Module {
  constructor(readonly groups: number) {
    super();
    checkNumbers(new.target, { groups }, arguments);
  }

  /** @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    return channelShuffle(input, this.groups);
  }

  override extraRepr(): string {
    return `groups=${this.groups}`;
  }
}
