/**
 * @file Where queries may look: at nothing behind them, nothing outside of their window, and no padding.
 */
import type { Tensor } from '@tessera/tensor';

/** What a mask is made from. */
export interface MaskParts {
  /** Places of the queries in the cache, [T]. */
  readonly queries: Tensor;
  /** Places of the keys, [S]. */
  readonly keys: Tensor;
  /** Which keys are tokens and not padding, [B, S] of bool; null if all are. */
  readonly real: Tensor | null;
}

/** [B or 1, 1, T, S] of bool: whether a query sees a key. */
export function attentionMask({ queries, keys, real }: MaskParts, window: number | null): Tensor {
  const distance = queries.unsqueeze(-1).sub(keys);
  let seen = distance.ge(0);
  if (window !== null) seen = seen.logicalAnd(distance.lt(window));
  const mask = seen.unsqueeze(0).unsqueeze(0);
  return real === null ? mask : mask.logicalAnd(real.unsqueeze(1).unsqueeze(1));
}
