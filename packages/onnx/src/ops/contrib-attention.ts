/**
 * @file The attentions of the `com.microsoft` domain.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, arange, cat, full, where, zerosLike } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { ListOperatorTable } from '../registry.js';
import { joinHeads, repeatHeads, splitHeads } from './attention.js';
import { anglesAt, rotate } from './rotary.js';

/** A mask that is added to scores: 0 where a key is seen. */
function added(seen: Tensor, like: Tensor): Tensor {
  const hidden = full([], -Infinity, { dtype: like.dtype, device: like.device });
  return where(seen, zerosLike(hidden), hidden);
}

/** Positions 0 … count - 1. */
function places(call: NodeCall, count: number): Tensor {
  return arange(count, { dtype: 'int64', device: call.device });
}

/** Both masks, where there are two. */
function both(a: Tensor | null, b: Tensor | null): Tensor | null {
  return a !== null && b !== null ? a.add(b) : (a ?? b);
}

/** Attention over [B, L, heads · E] with a cache [B, heads, S, E]. */
function multiHead(call: NodeCall): (Tensor | null)[] {
  const heads = call.int('num_heads');
  const bias = call.optional(3);
  const width = call.tensor(0).shape[2]!;
  const projected = (input: number, start: number): Tensor => {
    const x = call.tensor(input);
    if (x.ndim === 4) return x;
    return splitHeads(bias === null ? x : x.add(bias.narrow(0, start, x.shape[2]!)), heads);
  };
  if (!call.has(1) || !call.has(2))
    call.fail('packed inputs are not supported: pass query, key and value');
  const query = projected(0, 0);
  let [key, value] = [projected(1, width), projected(2, 2 * width)];
  const [pastKey, pastValue] = [call.optional(6), call.optional(7)];
  if (pastKey !== null) key = cat([pastKey, key], 2);
  if (pastValue !== null) value = cat([pastValue, value], 2);
  const [length, keys] = [query.shape[2]!, key.shape[2]!];
  let mask = call.optional(5);
  const padding = call.optional(4);
  if (padding !== null) {
    // Lengths of each sequence, or a flag per key.
    const seen =
      padding.ndim === 1
        ? places(call, keys).lt(padding.to('int64').reshape([-1, 1, 1, 1]))
        : padding.ne(0).reshape([padding.shape[0]!, 1, padding.ndim === 3 ? length : 1, keys]);
    mask = both(mask, added(seen, query));
  }
  if (call.flag('unidirectional')) {
    const at = places(call, length)
      .add(keys - length)
      .reshape([length, 1]);
    mask = both(mask, added(places(call, keys).le(at), query));
  }
  const scale = call.float('scale', 0) || 1 / Math.sqrt(query.shape[3]!);
  const y = F.scaledDotProductAttention(query, key, value, { attnMask: mask, scale });
  return [joinHeads(y), key, value];
}

/** Causal attention whose keys and values several heads share, with rotary embeddings and a cache. */
function groupQuery(call: NodeCall): Tensor[] {
  const [heads, shared] = [call.int('num_heads'), call.int('kv_num_heads')];
  const packed = call.tensor(0);
  const size = call.has(1) ? packed.shape[2]! / heads : packed.shape[2]! / (heads + 2 * shared);
  const part = (input: number, start: number, count: number): Tensor =>
    splitHeads(
      call.has(1) ? call.tensor(input) : packed.narrow(2, start * size, count * size),
      count,
    );
  let query = part(0, 0, heads);
  let key = part(1, heads, shared);
  let value = part(2, heads + shared, shared);
  const [length, batch] = [query.shape[2]!, query.shape[0]!];
  // Keys of each sequence, less one: the last position of this call.
  const last = call.tensor(5).to('int64').reshape([batch, 1]);
  const position =
    call.optional(9)?.to('int64') ??
    last
      .sub(length - 1)
      .clamp(0)
      .add(places(call, length));
  if (call.flag('do_rotary')) {
    const rotation = {
      cos: anglesAt(call.tensor(7), position),
      sin: anglesAt(call.tensor(8), position),
      interleaved: call.flag('rotary_interleaved'),
    };
    query = rotate(query, rotation);
    key = rotate(key, rotation);
  }
  if (call.has(3)) key = cat([call.tensor(3), key], 2);
  if (call.has(4)) value = cat([call.tensor(4), value], 2);
  const keys = key.shape[2]!;
  const at = places(call, length)
    .add(keys - length)
    .reshape([length, 1]);
  const window = call.int('local_window_size', -1);
  let seen = places(call, keys).le(at);
  if (window >= 0) seen = seen.logicalAnd(places(call, keys).gt(at.sub(window)));
  const mask = both(call.optional(10), added(seen, query));
  const scale = call.float('scale', 0) || 1 / Math.sqrt(size);
  const softcap = call.float('softcap', 0);
  const [allKeys, allValues] = [repeatHeads(key, heads), repeatHeads(value, heads)];
  if (softcap === 0) {
    const y = F.scaledDotProductAttention(query, allKeys, allValues, { attnMask: mask, scale });
    return [joinHeads(y), key, value];
  }
  const scores = query.matmul(allKeys.transpose(2, 3)).mul(scale);
  const capped = scores.div(softcap).tanh().mul(softcap);
  const weights = F.softmax(mask === null ? capped : capped.add(mask), -1);
  return [joinHeads(weights.matmul(allValues)), key, value];
}

/** Operators with several outputs. */
export const contribAttention: ListOperatorTable = {
  MultiHeadAttention: multiHead,
  GroupQueryAttention: groupQuery,
};
