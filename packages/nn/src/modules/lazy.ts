/**
 * @file `LazyLinear`, `LazyConv1d`–`3d` and `LazyBatchNorm1d`–`3d`: sizes from the first input.
 */
import { type Tensor, isTensor } from '@tessera/tensor';
import {
  BatchNorm1d,
  BatchNorm2d,
  BatchNorm3d,
  type BatchNormModuleOptions,
} from './batch-norm.js';
import type { PerDimension } from './conv-base.js';
import { Conv1d, Conv2d, Conv3d, type ConvModuleOptions } from './conv.js';
import { type LazyPlan, beLazy, initializeFrom } from './lazy-base.js';
import { Linear, type LinearOptions } from './linear.js';

/** The size of a dimension of a tensor in a state dict. */
function sizeIn(
  state: Readonly<Record<string, unknown>>,
  name: string,
  dim: number,
): number | null {
  const tensor = state[name];
  return isTensor(tensor) ? (tensor.sizes[dim] ?? null) : null;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** `Linear` whose `inFeatures` is the last size of the first input. @see torch.nn.LazyLinear */
export class LazyLinear extends Linear {
  constructor(outFeatures: number, options: LinearOptions = {}) {
    super(0, outFeatures, options);
    beLazy<Linear>(this, {
      becomes: Linear,
      sizes: ({ outFeatures: rows }, inputs) => ({ weight: [rows, inputs], bias: [rows] }),
      inputsOf: (_module, state, prefix) => sizeIn(state, `${prefix}weight`, 1),
      note: (module, inputs) => ((module as Writable<Linear>).inFeatures = inputs),
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
    note: (module, inputs) => ((module as Writable<AnyConv>).inChannels = inputs),
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

type AnyBatchNorm = BatchNorm1d | BatchNorm2d | BatchNorm3d;

function lazyBatchNorm(norm: AnyBatchNorm, becomes: { readonly prototype: AnyBatchNorm }): void {
  const plan: LazyPlan<AnyBatchNorm> = {
    becomes,
    sizes: (_module, inputs) => ({
      weight: [inputs],
      bias: [inputs],
      running_mean: [inputs],
      running_var: [inputs],
    }),
    inputsOf: (_module, state, prefix) =>
      sizeIn(state, `${prefix}weight`, 0) ?? sizeIn(state, `${prefix}running_mean`, 0),
    note: (module, inputs) => ((module as Writable<AnyBatchNorm>).numFeatures = inputs),
  };
  beLazy(norm, plan);
}

/** `BatchNorm1d` whose `numFeatures` are the channels of the first input. @see torch.nn.LazyBatchNorm1d */
export class LazyBatchNorm1d extends BatchNorm1d {
  constructor(options: BatchNormModuleOptions = {}) {
    super(0, options);
    lazyBatchNorm(this, BatchNorm1d);
  }

  override forward(input: Tensor): Tensor {
    initializeFrom(this, input, 1);
    return super.forward(input);
  }
}

/** `BatchNorm2d` whose `numFeatures` are the channels of the first input. @see torch.nn.LazyBatchNorm2d */
export class LazyBatchNorm2d extends BatchNorm2d {
  constructor(options: BatchNormModuleOptions = {}) {
    super(0, options);
    lazyBatchNorm(this, BatchNorm2d);
  }

  override forward(input: Tensor): Tensor {
    initializeFrom(this, input, 1);
    return super.forward(input);
  }
}

/** `BatchNorm3d` whose `numFeatures` are the channels of the first input. @see torch.nn.LazyBatchNorm3d */
export class LazyBatchNorm3d extends BatchNorm3d {
  constructor(options: BatchNormModuleOptions = {}) {
    super(0, options);
    lazyBatchNorm(this, BatchNorm3d);
  }

  override forward(input: Tensor): Tensor {
    initializeFrom(this, input, 1);
    return super.forward(input);
  }
}
