/**
 * @file Dropout that returns its mask. A function only, as in PyTorch.
 */
import { callOp } from '../../dispatch/dispatcher.js';
import type { Tensor } from '../../tensor.js';
import { nativeDropoutOp } from './dropout.js';

/** Dropout with the mask of the kept elements. @throws invalid-argument */
export function nativeDropout(
  input: Tensor,
  p: number,
  train: boolean,
): [output: Tensor, mask: Tensor] {
  return callOp(nativeDropoutOp, [input, p, train]);
}
