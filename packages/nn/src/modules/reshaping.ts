/**
 * @file Flatten, Unflatten and Identity.
 */
import { type Tensor, flatten, unflatten } from '@tessera/tensor';
import { pythonLiteral } from '../module/module-repr.js';
import { checkNumbers, checkSizes } from '../module/check-options.js';
import { Module } from '../module/module.js';

/** Dimensions startDim to endDim merged into one. @see torch.nn.Flatten */
export class Flatten extends Module {
  constructor(
    readonly startDim = 1,
    readonly endDim = -1,
  ) {
    super();
    checkNumbers(new.target, { startDim, endDim }, arguments);
  }

  /** @throws invalid-dim */
  override forward(input: Tensor): Tensor {
    return flatten(input, this.startDim, this.endDim);
  }

  override extraRepr(): string {
    return `start_dim=${this.startDim}, end_dim=${this.endDim}`;
  }
}

/** One dimension split into several. @see torch.nn.Unflatten */
export class Unflatten extends Module {
  constructor(
    readonly dim: number,
    readonly unflattenedSize: readonly number[],
  ) {
    super();
    checkSizes(new.target, { dim, unflattenedSize }, arguments);
  }

  /** @throws invalid-dim, shape-mismatch */
  override forward(input: Tensor): Tensor {
    return unflatten(input, this.dim, this.unflattenedSize);
  }

  override extraRepr(): string {
    return `dim=${this.dim}, unflattened_size=${pythonLiteral(this.unflattenedSize)}`;
  }
}

/** Its input, whatever arguments it was made with: it stands in for any other module. @see torch.nn.Identity */
export class Identity extends Module {
  constructor(..._ignored: readonly unknown[]) {
    super();
  }

  override forward(input: Tensor): Tensor {
    return input;
  }
}
