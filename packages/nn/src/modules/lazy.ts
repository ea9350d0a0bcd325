/**
 * @file `LazyLinear`, `LazyConv1d`–`3d` and `LazyConvTranspose1d`–`3d`: sizes from the first input.
 */
import type { Tensor } from '@tessera/tensor';
import type { PerDimension } from './conv-base.js';
import { Conv1d, Conv2d, Conv3d, type ConvModuleOptions } from './conv.js';
import {
  ConvTranspose1d,
  ConvTranspose2d,
  ConvTranspose3d,
  type ConvTransposeModuleOptions,
} from './conv-transpose.js';
import { beLazy, initializeFrom, sizeIn } from './lazy-base.js';
import { Linear, type LinearOptions } from './linear.js';

/** `Linear` whose `inFeatures` is the last size of the first input. @see torch.nn.LazyLinear */
export class LazyLinear extends Linear {
  constructor(outFeatures: number, options: LinearOptions = {}) {
    super(0, outFeatures, options);
    beLazy<Linear>(this, {
      becomes: Linear,
      sizes: ({ outFeatures: rows }, inputs) => ({ weight: [rows, inputs], bias: [rows] }),
      inputsOf: (_module, state, prefix) => sizeIn(state, `${prefix}weight`, 1),
      note: (module, inputs) => (module.inFeatures = inputs),
    });
  }

  override forward(input: Tensor): Tensor {
    initializeFrom(this, input, -1);
    return super.forward(input);
  }
}

type AnyConv = Conv1d | Conv2d | Conv3d;

/** Channels are the dimension before the spatial ones, with or without a batch. */
function lazyConv(conv: AnyConv, becomes: { readonly prototype: AnyConv }): void {
  beLazy<AnyConv>(conv, {
    becomes,
    sizes: ({ outChannels, groups, kernelSize }, inputs) => ({
      weight: [outChannels, inputs / groups, ...kernelSize],
      bias: [outChannels],
    }),
    inputsOf: ({ groups }, state, prefix) => {
      const own = sizeIn(state, `${prefix}weight`, 1);
      return own === null ? null : own * groups;
    },
    note: (module, inputs) => (module.inChannels = inputs),
  });
}

/** `Conv1d` whose `inChannels` are those of the first input. @see torch.nn.LazyConv1d */
export class LazyConv1d extends Conv1d {
  constructor(outChannels: number, kernelSize: PerDimension, options: ConvModuleOptions = {}) {
    super(0, outChannels, kernelSize, options);
    lazyConv(this, Conv1d);
  }

  override forward(input: Tensor): Tensor {
    initializeFrom(this, input, -2);
    return super.forward(input);
  }
}

/** `Conv2d` whose `inChannels` are those of the first input. @see torch.nn.LazyConv2d */
export class LazyConv2d extends Conv2d {
  constructor(outChannels: number, kernelSize: PerDimension, options: ConvModuleOptions = {}) {
    super(0, outChannels, kernelSize, options);
    lazyConv(this, Conv2d);
  }

  override forward(input: Tensor): Tensor {
    initializeFrom(this, input, -3);
    return super.forward(input);
  }
}

/** `Conv3d` whose `inChannels` are those of the first input. @see torch.nn.LazyConv3d */
export class LazyConv3d extends Conv3d {
  constructor(outChannels: number, kernelSize: PerDimension, options: ConvModuleOptions = {}) {
    super(0, outChannels, kernelSize, options);
    lazyConv(this, Conv3d);
  }

  override forward(input: Tensor): Tensor {
    initializeFrom(this, input, -4);
    return super.forward(input);
  }
}

type AnyConvTranspose = ConvTranspose1d | ConvTranspose2d | ConvTranspose3d;

function lazyConvTranspose(
  conv: AnyConvTranspose,
  becomes: { readonly prototype: AnyConvTranspose },
): void {
  beLazy<AnyConvTranspose>(conv, {
    becomes,
    sizes: ({ outChannels, groups, kernelSize }, inputs) => ({
      weight: [inputs, outChannels / groups, ...kernelSize],
      bias: [outChannels],
    }),
    inputsOf: (_module, state, prefix) => sizeIn(state, `${prefix}weight`, 0),
    note: (module, inputs) => (module.inChannels = inputs),
  });
}

/** `ConvTranspose1d` whose `inChannels` are those of the first input. @see torch.nn.LazyConvTranspose1d */
export class LazyConvTranspose1d extends ConvTranspose1d {
  constructor(
    outChannels: number,
    kernelSize: PerDimension,
    options: ConvTransposeModuleOptions = {},
  ) {
    super(0, outChannels, kernelSize, options);
    lazyConvTranspose(this, ConvTranspose1d);
  }

  override forward(input: Tensor, outputSize: readonly number[] | null = null): Tensor {
    initializeFrom(this, input, -2);
    return super.forward(input, outputSize);
  }
}

/** `ConvTranspose2d` whose `inChannels` are those of the first input. @see torch.nn.LazyConvTranspose2d */
export class LazyConvTranspose2d extends ConvTranspose2d {
  constructor(
    outChannels: number,
    kernelSize: PerDimension,
    options: ConvTransposeModuleOptions = {},
  ) {
    super(0, outChannels, kernelSize, options);
    lazyConvTranspose(this, ConvTranspose2d);
  }

  override forward(input: Tensor, outputSize: readonly number[] | null = null): Tensor {
    initializeFrom(this, input, -3);
    return super.forward(input, outputSize);
  }
}

/** `ConvTranspose3d` whose `inChannels` are those of the first input. @see torch.nn.LazyConvTranspose3d */
export class LazyConvTranspose3d extends ConvTranspose3d {
  constructor(
    outChannels: number,
    kernelSize: PerDimension,
    options: ConvTransposeModuleOptions = {},
  ) {
    super(0, outChannels, kernelSize, options);
    lazyConvTranspose(this, ConvTranspose3d);
  }

  override forward(input: Tensor, outputSize: readonly number[] | null = null): Tensor {
    initializeFrom(this, input, -4);
    return super.forward(input, outputSize);
  }
}
