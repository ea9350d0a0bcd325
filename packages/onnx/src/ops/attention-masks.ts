/**
 * @file Masks that are added to the scores of an attention.
 */
import { type Tensor, arange, full, where, zerosLike } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';

/** A mask that is added to scores: 0 where a key is seen, -∞ elsewhere. */
export function addedMask(seen: Tensor, like: Tensor): Tensor {
  const hidden = full([], -Infinity, { dtype: like.dtype, device: like.device });
  return where(seen, zerosLike(hidden), hidden);
}

/** The same with what the node says for keys that are padding; with the lowest number of halves where it has no such. */
export function paddingMask(call: NodeCall, seen: Tensor, like: Tensor): Tensor {
  const lowest = like.dtype === 'float16' ? -65504 : -Infinity;
  const value = Math.max(call.float('mask_filter_value', -10000), lowest);
  const hidden = full([], value, { dtype: like.dtype, device: like.device });
  return where(seen, zerosLike(hidden), hidden);
}

/** Positions 0 … count - 1. */
export function places(call: NodeCall, count: number): Tensor {
  return arange(count, { dtype: 'int64', device: call.device });
}

/** Both masks, where there are two. */
export function both(a: Tensor | null, b: Tensor | null): Tensor | null {
  return a !== null && b !== null ? a.add(b) : (a ?? b);
}

/** Which keys stand in front of each query or at its own place, the queries being the last of them: [L, S]. */
export function causalMask(call: NodeCall, length: number, keys: number): Tensor {
  const at = places(call, length)
    .add(keys - length)
    .reshape([length, 1]);
  return places(call, keys).le(at);
}
