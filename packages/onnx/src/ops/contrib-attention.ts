/**
 * @file The attentions of the `com.microsoft` domain.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, cat, full, where, zerosLike } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { ListOperatorTable } from '../registry.js';
import { joinHeads, repeatHeads, splitHeads } from './attention.js';
import { addedMask, both, causalMask, paddingMask, places } from './attention-masks.js';
import { cacheForm } from './contrib-quantized-cache.js';
import { anglesAt, rotate } from './rotary.js';

/** Query, key and value as [B, heads, L, E], from inputs of their own or packed into one or two. */
function projections(call: NodeCall, heads: number): [query: Tensor, key: Tensor, value: Tensor] {
  const first = call.tensor(0);
  // [B, L, heads, parts, E]
  const unpacked = (x: Tensor): Tensor[] => x.unbind(3).map((part) => part.transpose(1, 2));
  if (!call.has(1)) {
    if (first.ndim !== 5)
      call.fail('key is missing, and query is not packed as [B, L, heads, 3, E]');
    const [query, key, value] = unpacked(first);
    return [query, key, value];
  }
  const [bias, width] = [call.optional(3), first.shape[2]!];
  const projected = (input: number, start: number): Tensor => {
    const x = call.tensor(input);
    if (x.ndim === 4) return x;
    return splitHeads(bias === null ? x : x.add(bias.narrow(0, start, x.shape[2]!)), heads);
  };
  const query = projected(0, 0);
  const second = call.tensor(1);
  if (second.ndim === 5) return [query, ...unpacked(second)] as [Tensor, Tensor, Tensor];
  if (!call.has(2)) call.fail('value is missing');
  return [query, projected(1, width), projected(2, 2 * width)];
}

/** Which keys are no padding, from lengths of the sequences or a flag per key: [B, 1, L or 1, S]. */
function unpadded(call: NodeCall, padding: Tensor, keys: number): Tensor {
  if (padding.ndim === 1) return places(call, keys).lt(padding.to('int64').reshape([-1, 1, 1, 1]));
  const seen = padding.ne(0).unsqueeze(1);
  return padding.ndim === 3 ? seen : seen.unsqueeze(1);
}

/** Attention over [B, L, heads · E] with a cache [B, heads, S, E]. */
function multiHead(call: NodeCall): (Tensor | null)[] {
  const [query, ownKey, ownValue] = projections(call, call.int('num_heads'));
  const [pastKey, pastValue] = [call.optional(6), call.optional(7)];
  const key = pastKey === null ? ownKey : cat([pastKey, ownKey], 2);
  const value = pastValue === null ? ownValue : cat([pastValue, ownValue], 2);
  const [length, keys] = [query.shape[2]!, key.shape[2]!];
  let mask = call.optional(5);
  const padding = call.optional(4);
  if (padding !== null) {
    mask = both(mask, paddingMask(call, unpadded(call, padding, keys), query));
  }
  if (call.flag('unidirectional'))
    mask = both(mask, addedMask(causalMask(call, length, keys), query));
  const scale = call.float('scale', 0) || 1 / Math.sqrt(query.shape[3]!);
  const y = F.scaledDotProductAttention(query, key, value, { attnMask: mask, scale });
  return [joinHeads(y), key, value];
}

/** Masked scores → weights, with a sink of each head, which takes a share of nothing. */
function weightsOf(call: NodeCall, masked: Tensor): Tensor {
  const sink = call.optional(11);
  if (sink === null && call.int('smooth_softmax', 0) !== 1) return F.softmax(masked, -1);
  const [batch, heads, length, keys] = masked.shape;
  const of =
    sink?.to(masked.dtype).reshape([1, heads, 1, 1]) ??
    full([1, 1, 1, 1], 0, { dtype: masked.dtype, device: call.device });
  const all = cat([masked, of.expand([batch, heads, length, 1])], -1);
  return F.softmax(all, -1).narrow(-1, 0, keys);
}

/** A cache with the keys or values of the call written behind those of each sequence, [B, heads, S, E]. */
function withNew(past: Tensor | null, fresh: Tensor, at: Tensor, room: number): Tensor {
  const [batch, heads, length, width] = fresh.shape;
  // Dense as all later ones: the next call would have code of its own for another layout.
  if (past === null && room === length) return fresh.contiguous();
  const missing = room - (past?.shape[2] ?? 0);
  const on = { dtype: fresh.dtype, device: fresh.device } as const;
  const parts = past === null ? [] : [past];
  // A cache that grows by the tokens of the call names no sizes: code is the same for all.
  if (missing === length) parts.push(zerosLike(fresh));
  else if (missing > 0) parts.push(full([batch, heads, missing, width], 0, on));
  const index = at.unsqueeze(1).unsqueeze(3).expand([-1, heads, -1, width]);
  return cat(parts, 2).scatter(2, index, fresh);
}

/** The heads of query or key, each of norm one where the node has weights for that. */
function normed(call: NodeCall, x: Tensor, input: number): Tensor {
  const weight = call.optional(input);
  if (weight === null) return x;
  return F.rmsNorm(x, [x.shape[3]!], { weight, eps: call.float('qk_norm_epsilon', 1e-6) });
}

/** Attention whose keys and values several heads share, with rotary embeddings and a cache. */
function groupQuery(call: NodeCall): (Tensor | null)[] {
  if (call.flag('sliding_window_cache')) call.unsupported('sliding_window_cache');
  const [heads, shared] = [call.int('num_heads'), call.int('kv_num_heads')];
  const packed = call.tensor(0);
  const size = call.has(1) ? packed.shape[2]! / heads : packed.shape[2]! / (heads + 2 * shared);
  const part = (input: number, start: number, count: number): Tensor =>
    splitHeads(
      call.has(1) ? call.tensor(input) : packed.narrow(2, start * size, count * size),
      count,
    );
  let query = normed(call, part(0, 0, heads), 14);
  let key = normed(call, part(1, heads, shared), 15);
  const value = part(2, heads + shared, shared);
  const length = query.shape[2]!;
  // Where each sequence's tokens of this call stand: behind its own past, however long the cache is.
  const last = call.tensor(5).to('int64').reshape([-1, 1]);
  // One token at a time is a program of its own, for which nothing has to find out what the length is.
  const position =
    length === 1
      ? last.clamp(0)
      : last
          .sub(length - 1)
          .clamp(0)
          .add(places(call, length));
  if (call.flag('do_rotary')) {
    const at = call.optional(9)?.to('int64') ?? position;
    const rotation = {
      cos: anglesAt(call.tensor(7), at),
      sin: anglesAt(call.tensor(8), at),
      interleaved: call.flag('rotary_interleaved'),
    };
    query = rotate(query, rotation);
    key = rotate(key, rotation);
  }
  const past = call.optional(3)?.shape[2] ?? 0;
  // A cache may have room already.
  const keys = past === 0 ? length : Math.max(past, call.number(6));
  const cached = (input: number, fresh: Tensor, type: string, scale: number): [Tensor, Tensor] => {
    const form = cacheForm(call, type, scale);
    const kept = past === 0 ? null : call.optional(input);
    const present = withNew(kept, form?.toCache(fresh) ?? fresh, position, keys);
    return [present, repeatHeads(form?.fromCache(present) ?? present, heads)];
  };
  const [presentKey, k] = cached(3, key, 'k_quant_type', 12);
  const [presentValue, v] = cached(4, value, 'v_quant_type', 13);
  const at = (call.flag('causal', true) ? position : last.clamp(0)).unsqueeze(1).unsqueeze(3);
  const window = call.int('local_window_size', -1);
  let seen = places(call, keys).le(at);
  if (window > 0) seen = seen.logicalAnd(places(call, keys).gt(at.sub(window)));
  const bias = call.optional(10);
  const mask = addedMask(seen, query);
  const scale = call.float('scale', 0) || 1 / Math.sqrt(size);
  const softcap = call.float('softcap', 0);
  const isPlain =
    softcap === 0 && !call.has(11) && call.int('smooth_softmax', 0) !== 1 && !call.wants(3);
  if (isPlain) {
    const attnMask = bias === null ? mask : mask.add(bias);
    const y = F.scaledDotProductAttention(query, k, v, { attnMask, scale });
    return [joinHeads(y), presentKey, presentValue];
  }
  const products = query.matmul(k.transpose(2, 3)).mul(scale);
  const capped = softcap === 0 ? products : products.div(softcap).tanh().mul(softcap);
  const scores = bias === null ? capped : capped.add(bias);
  const weights = weightsOf(call, scores.add(mask));
  // What is given has no room, and zeros for what a token does not see.
  const asked = (): Tensor =>
    (call.int('qk_output') === 1 ? where(seen, scores, 0) : weights).narrow(3, 0, call.number(6));
  return [joinHeads(weights.matmul(v)), presentKey, presentValue, call.wants(3) ? asked() : null];
}

/** Operators with several outputs. */
export const contribAttention: ListOperatorTable = {
  MultiHeadAttention: multiHead,
  GroupQueryAttention: groupQuery,
};
