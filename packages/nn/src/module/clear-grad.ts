/**
 * @file What `zeroGrad` of modules and optimizers does to each gradient.
 */
import { type OptionNames, checkOptionNames } from '@tessera/shared';
import type { Tensor } from '@tessera/tensor';
import { dropGradient, zeroGradient } from '@tessera/tensor/internal';

/** Options of `zeroGrad`. */
export interface ZeroGradOptions {
  /** Gradients become null, else zeros (default true). */
  readonly setToNone?: boolean;
}
const ZERO_GRAD: OptionNames<ZeroGradOptions> = { setToNone: true };

/** Clears the gradients of tensors: sets them to null, or to zero. @throws invalid-argument */
export function clearGrads(tensors: Iterable<Tensor>, options?: ZeroGradOptions): void {
  checkOptionNames('zeroGrad', options, ZERO_GRAD);
  const clear = options?.setToNone === false ? zeroGradient : dropGradient;
  for (const tensor of tensors) clear(tensor);
}
