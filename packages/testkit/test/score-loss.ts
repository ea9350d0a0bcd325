/**
 * @file The function that ARCHITECTURE.md follows.
 */
import { type Tensor, mm } from '@tessera/tensor';

/** `[N, K] @ [K, M] → []`. */
export function scoreLoss(x: Tensor, w: Tensor): Tensor {
  return mm(x, w).relu().sum();
}
