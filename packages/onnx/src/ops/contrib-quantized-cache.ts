/**
 * @file Caches of keys and values as whole numbers of eight or four bits, with a scale for all of them or one for each
 * channel.
 */
import { type Tensor, bitwiseRightShift, stack } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';

/** How a cache holds what is computed. */
export interface CacheForm {
  readonly toCache: (x: Tensor) => Tensor;
  readonly fromCache: (cache: Tensor) => Tensor;
}

const TYPES = ['NONE', 'PER_TENSOR', 'PER_CHANNEL'] as const;

/** The form of the cache of keys or values; null for one of floats. @throws onnx-invalid */
export function cacheForm(call: NodeCall, type: string, scaleInput: number): CacheForm | null {
  if (call.choice(type, TYPES, 'NONE') === 'NONE') return null;
  const scale = call.tensor(scaleInput);
  const bits = call.int('kv_cache_bit_width', 8);
  if (bits !== 4 && bits !== 8) call.fail(`kv_cache_bit_width is ${bits} instead of 4 or 8`);
  const half = 2 ** (bits - 1);
  const whole = (x: Tensor): Tensor =>
    x
      .div(scale)
      .round()
      .clamp(-half, half - 1);
  if (bits === 8)
    return {
      toCache: (x) => whole(x).to('int8'),
      fromCache: (cache) => cache.to(scale.dtype).mul(scale),
    };
  // A byte has two numbers, the first in its lower half, and 8 stands for zero.
  return {
    toCache: (x) => {
      const [low, high] = whole(x).add(half).unflatten(-1, [-1, 2]).unbind(-1);
      return low.add(high.mul(16)).to('uint8');
    },
    fromCache: (cache) => {
      const bytes = cache.to('int32');
      const pairs = stack([bytes.bitwiseAnd(15), bitwiseRightShift(bytes, 4)], -1);
      return pairs.flatten(-2).sub(half).to(scale.dtype).mul(scale);
    },
  };
}
