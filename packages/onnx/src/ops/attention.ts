/**
 * @file Attention of the standard domain, with its caches, masks and windows.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, arange, cat, full, matmul, pad, where, zerosLike } from '@tessera/tensor';
import { elementType } from '../model/element-types.js';
import type { NodeCall } from '../run/node-call.js';
import type { ListOperatorTable } from '../registry.js';
import { inDType } from './like.js';

/**
 * [B, L, heads · E] → [B, heads, L, E]. Here and below dimensions are named, not their sizes: a traced call is the same
 * whatever batch and length are.
 */
export function splitHeads(x: Tensor, heads: number): Tensor {
  return x.unflatten(2, [heads, -1]).transpose(1, 2);
}

/** [B, heads, L, E] → [B, L, heads · E] */
export function joinHeads(x: Tensor): Tensor {
  return x.transpose(1, 2).flatten(2);
}

/** Each head of key or value as often as queries share it. */
export function repeatHeads(x: Tensor, heads: number): Tensor {
  const own = x.shape[1]!;
  if (own === heads) return x;
  return x
    .unsqueeze(2)
    .expand([-1, -1, heads / own, -1, -1])
    .flatten(1, 2);
}

/** Which keys each query sees at all: [L, S], or [B, 1, L, S]; null if it is all of them. */
function visible(call: NodeCall, query: Tensor, key: Tensor, past: number): Tensor | null {
  const [length, keys] = [query.shape[2]!, key.shape[2]!];
  const [left, right] = [call.int('left_window_size', -1), call.int('right_window_size', -1)];
  const isCausal = call.flag('is_causal');
  const lengths = call.optional(6);
  if (!isCausal && left < 0 && right < 0 && lengths === null) return null;
  const on = { dtype: 'int64', device: call.device } as const;
  const at = arange(keys, on);
  const rows = arange(length, on).reshape([length, 1]);
  const counts = lengths?.to('int64').reshape([-1, 1, 1, 1]) ?? null;
  // Position of each query among the keys.
  const position = counts === null ? rows.add(past) : rows.add(counts.sub(length));
  let seen: Tensor | null = counts === null ? null : at.lt(counts);
  const restrict = (by: Tensor): void => {
    seen = seen === null ? by : seen.logicalAnd(by);
  };
  if (isCausal) restrict(at.le(position));
  if (left >= 0) restrict(position.sub(at).le(left));
  if (right >= 0) restrict(at.sub(position).le(right));
  return seen;
}

/** What is added to the scores: 0 where a key is seen, -∞ where it is not, and the mask's own numbers. */
function scoreBias(call: NodeCall, query: Tensor, key: Tensor, past: number): Tensor | null {
  const hidden = full([], -Infinity, { dtype: query.dtype, device: call.device });
  const asBias = (seen: Tensor): Tensor => where(seen, zerosLike(hidden), hidden);
  let mask = call.optional(3);
  if (mask !== null) {
    const missing = key.shape[2]! - mask.shape.at(-1)!;
    if (mask.dtype === 'bool') mask = asBias(mask);
    if (missing > 0) mask = pad(mask, [0, missing], { value: -Infinity });
  }
  const seen = visible(call, query, key, past);
  if (seen === null) return mask;
  return mask === null ? asBias(seen) : mask.add(asBias(seen));
}

/** Softmax of scores whose rows may be hidden altogether: those have no weights. */
function weightsOf(scores: Tensor, bias: Tensor | null): Tensor {
  const weights = F.softmax(scores, -1);
  if (bias === null) return weights;
  const isHidden = bias.amax([-1], { keepdim: true }).eq(-Infinity);
  return weights.maskedFill(isHidden.expand(weights.shape), 0);
}

function attention(call: NodeCall): Tensor[] {
  const isFlat = call.array(0).ndim === 3;
  const heads = (input: number, name: string): Tensor =>
    isFlat ? splitHeads(call.tensor(input), call.int(name)) : call.tensor(input);
  const query = heads(0, 'q_num_heads');
  let [key, value] = [heads(1, 'kv_num_heads'), heads(2, 'kv_num_heads')];
  const [pastKey, pastValue] = [call.optional(4), call.optional(5)];
  if (pastKey !== null) key = cat([pastKey, key], 2);
  if (pastValue !== null) value = cat([pastValue, value], 2);
  const past = pastKey?.shape[2] ?? 0;
  const bias = scoreBias(call, query, key, past);
  const scale = call.float('scale', 0) || 1 / Math.sqrt(query.shape[3]!);
  const softcap = call.float('softcap', 0);
  const present = [key, value];
  const finish = (y: Tensor): Tensor => (isFlat ? joinHeads(y) : y);
  const [allKeys, allValues] = present.map((x) => repeatHeads(x, query.shape[1]!));
  // A row that sees nothing is the one thing the fused operator does not do as ONNX wants it.
  const hasHidden = bias !== null;
  if (softcap === 0 && !hasHidden && !call.wants(3)) {
    const y = F.scaledDotProductAttention(query, allKeys, allValues, { scale });
    return [finish(y), ...present];
  }
  const root = Math.sqrt(scale);
  const scores = matmul(query.mul(root), allKeys.transpose(2, 3).mul(root));
  const capped = softcap === 0 ? scores : scores.div(softcap).tanh().mul(softcap);
  const biased = bias === null ? capped : capped.add(bias);
  const precision = elementType(call.int('softmax_precision', 0))?.dtype ?? query.dtype;
  const weights = inDType(weightsOf(inDType(biased, precision), bias), query.dtype);
  const kept = [scores, capped, biased, weights][call.int('qk_matmul_output_mode', 0)];
  return [finish(matmul(weights, allValues)), ...present, kept ?? call.fail('its output mode')];
}

/** Operators of the standard domain. */
export const attentionLists: ListOperatorTable = { Attention: attention };
