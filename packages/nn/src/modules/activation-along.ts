/**
 * @file Activations along a dimension, as modules.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, glu, softmax } from '@tessera/tensor';
import { softmin } from '../functional/activations.js';
import { checkNumbers } from '../module/check-options.js';
import { Module } from '../module/module.js';
import { checkTensors } from '@tessera/tensor/internal';

/** Softmax of -x. @see torch.nn.Softmin */
export class Softmin extends Module {
  constructor(readonly dim: number) {
    super();
    checkNumbers(new.target, { dim }, arguments);
  }

  /** @throws invalid-dim */
  override forward(input: Tensor): Tensor {
    return softmin(input, this.dim);
  }

  override extraRepr(): string {
    return `dim=${this.dim}`;
  }
}

/** Softmax over the channels of [N, C, H, W] or [C, H, W]. @see torch.nn.Softmax2d */
export class Softmax2d extends Module {
  /** @throws shape-mismatch */
  override forward(input: Tensor): Tensor {
    checkTensors('Softmax2d', { input });
    if (input.ndim !== 3 && input.ndim !== 4)
      throw new TesseraError(
        'shape-mismatch',
        `Softmax2d: expected input to be 3D or 4D, got ${input.ndim}D instead`,
        { hints: ['The input is [N, C, H, W] or [C, H, W].'] },
      );
    return softmax(input, -3);
  }
}

/** First half times the sigmoid of the second. @see torch.nn.GLU @see https://arxiv.org/abs/1612.08083 */
export class GLU extends Module {
  constructor(readonly dim = -1) {
    super();
    checkNumbers(new.target, { dim }, arguments);
  }

  /** @throws shape-mismatch, invalid-dim */
  override forward(input: Tensor): Tensor {
    return glu(input, this.dim);
  }

  override extraRepr(): string {
    return `dim=${this.dim}`;
  }
}
