/**
 * @file `LazyBatchNorm1d`–`3d` and `LazyInstanceNorm1d`–`3d`: channels from the first input.
 */
import type { Tensor } from '@tessera/tensor';
import {
  BatchNorm1d,
  BatchNorm2d,
  BatchNorm3d,
  type BatchNorm,
  type BatchNormModuleOptions,
} from './batch-norm.js';
import {
  InstanceNorm1d,
  InstanceNorm2d,
  InstanceNorm3d,
  type InstanceNormModuleOptions,
} from './instance-norm.js';
import { beLazy, initializeFrom, sizeIn } from './lazy-base.js';

function lazyNorm(norm: BatchNorm, becomes: { readonly prototype: BatchNorm }): void {
  beLazy<BatchNorm>(norm, {
    becomes,
    sizes: (_module, inputs) => ({
      weight: [inputs],
      bias: [inputs],
      running_mean: [inputs],
      running_var: [inputs],
    }),
    inputsOf: (_module, state, prefix) =>
      sizeIn(state, `${prefix}weight`, 0) ?? sizeIn(state, `${prefix}running_mean`, 0),
    note: (module, inputs) => (module.numFeatures = inputs),
  });
}

/** `BatchNorm1d` whose `numFeatures` are the channels of the first input. @see torch.nn.LazyBatchNorm1d */
export class LazyBatchNorm1d extends BatchNorm1d {
  constructor(options: BatchNormModuleOptions = {}) {
    super(0, options);
    lazyNorm(this, BatchNorm1d);
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
    lazyNorm(this, BatchNorm2d);
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
    lazyNorm(this, BatchNorm3d);
  }

  override forward(input: Tensor): Tensor {
    initializeFrom(this, input, 1);
    return super.forward(input);
  }
}

/** `InstanceNorm1d` whose `numFeatures` are the channels of the first input. @see torch.nn.LazyInstanceNorm1d */
export class LazyInstanceNorm1d extends InstanceNorm1d {
  constructor(options: InstanceNormModuleOptions = {}) {
    super(0, options);
    lazyNorm(this, InstanceNorm1d);
  }

  override forward(input: Tensor): Tensor {
    initializeFrom(this, input, -2);
    return super.forward(input);
  }
}

/** `InstanceNorm2d` whose `numFeatures` are the channels of the first input. @see torch.nn.LazyInstanceNorm2d */
export class LazyInstanceNorm2d extends InstanceNorm2d {
  constructor(options: InstanceNormModuleOptions = {}) {
    super(0, options);
    lazyNorm(this, InstanceNorm2d);
  }

  override forward(input: Tensor): Tensor {
    initializeFrom(this, input, -3);
    return super.forward(input);
  }
}

/** `InstanceNorm3d` whose `numFeatures` are the channels of the first input. @see torch.nn.LazyInstanceNorm3d */
export class LazyInstanceNorm3d extends InstanceNorm3d {
  constructor(options: InstanceNormModuleOptions = {}) {
    super(0, options);
    lazyNorm(this, InstanceNorm3d);
  }

  override forward(input: Tensor): Tensor {
    initializeFrom(this, input, -4);
    return super.forward(input);
  }
}
