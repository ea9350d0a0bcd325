/**
 * @file Reference attention over [B, H, L, E]: softmax(q kᵀ · scale + mask) v, and its gradients.
 *
 * Heads of key and value may be fewer than those of the query; consecutive query heads share one.
 */
import type { Tensor } from '../tensor.js';
import { readNumbers } from './elements.js';

/** Operands of an attention. */
export interface Attention {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
  /** Added to the scores (bool: true takes part); broadcasts to [B, H, L, S]. */
  readonly mask: Tensor | null;
  readonly isCausal: boolean;
  readonly scale: number;
}

/** One row of scores and where its operands lie. */
interface Row {
  /** Scaled and masked scores, one per key. */
  readonly scores: Float64Array;
  /** Position of the row among [B, H, L]. */
  readonly at: number;
  /** Position of the query row, and of the first key and value rows, in elements. */
  readonly query: number;
  readonly key: number;
  readonly value: number;
}

function forEachRow(
  call: Attention,
  q: Float64Array,
  k: Float64Array,
  visit: (row: Row) => void,
): void {
  const [batch, heads, length, width] = call.query.sizes;
  const [, keyHeads, keys] = call.key.sizes;
  const valueWidth = call.value.sizes[3]!;
  const group = heads / keyHeads;
  const masks = call.mask === null ? null : readNumbers(call.mask, [batch, heads, length, keys]);
  const isBool = call.mask?.dtype === 'bool';
  const scores = new Float64Array(keys);
  for (let at = 0; at < batch * heads * length; at++) {
    const i = at % length;
    const head = Math.floor(at / length);
    const shared = Math.floor(head / heads) * keyHeads + Math.floor((head % heads) / group);
    const row = {
      scores,
      at,
      query: at * width,
      key: shared * keys * width,
      value: shared * keys * valueWidth,
    };
    for (let j = 0; j < keys; j++) {
      let dot = 0;
      for (let e = 0; e < width; e++) dot += q[row.query + e]! * k[row.key + j * width + e]!;
      const masked = masks === null ? 0 : masks[at * keys + j]!;
      const seen = !(call.isCausal && j > i) && !(isBool && masked === 0);
      scores[j] = seen ? dot * call.scale + (isBool ? 0 : masked) : -Infinity;
    }
    visit(row);
  }
}

/** Outputs [B, H, L, Ev] and log Σ exp of the scores [B, H, L], in row-major order. */
export function attend(call: Attention): { out: Float64Array; logSumExp: Float64Array } {
  const [q, k, v] = [call.query, call.key, call.value].map((t) => readNumbers(t));
  const [batch, heads, length] = call.query.sizes;
  const width = call.value.sizes[3]!;
  const out = new Float64Array(batch * heads * length * width);
  const logSumExp = new Float64Array(batch * heads * length);
  forEachRow(call, q, k, ({ scores, at, value }) => {
    const top = scores.reduce((a, b) => Math.max(a, b), -Infinity);
    // A row that sees nothing gives zeros.
    const shift = top === -Infinity ? 0 : top;
    let total = 0;
    scores.forEach((score, j) => {
      const weight = Math.exp(score - shift);
      total += weight;
      for (let e = 0; e < width; e++) out[at * width + e]! += weight * v[value + j * width + e]!;
    });
    logSumExp[at] = top + Math.log(total);
    if (total !== 0) for (let e = 0; e < width; e++) out[at * width + e]! /= total;
  });
  return { out, logSumExp };
}

/** Gradients of query, key and value in row-major order, from the output and its log Σ exp. */
export function attendBackward(
  call: Attention,
  gradOut: Tensor,
  out: Tensor,
  logSumExp: Tensor,
): { query: Float64Array; key: Float64Array; value: Float64Array } {
  const [q, k, v] = [call.query, call.key, call.value].map((t) => readNumbers(t));
  const grads = readNumbers(gradOut);
  const outs = readNumbers(out);
  const sums = readNumbers(logSumExp);
  const result = {
    query: new Float64Array(q.length),
    key: new Float64Array(k.length),
    value: new Float64Array(v.length),
  };
  const width = call.query.sizes[3]!;
  const valueWidth = call.value.sizes[3]!;
  forEachRow(call, q, k, ({ scores, at, query, key, value }) => {
    if (sums[at] === -Infinity) return;
    let delta = 0;
    const g = at * valueWidth;
    for (let e = 0; e < valueWidth; e++) delta += grads[g + e]! * outs[g + e]!;
    scores.forEach((score, j) => {
      const weight = Math.exp(score - sums[at]!);
      const row = value + j * valueWidth;
      let slope = 0;
      for (let e = 0; e < valueWidth; e++) {
        slope += grads[g + e]! * v[row + e]!;
        result.value[row + e]! += weight * grads[g + e]!;
      }
      const step = weight * (slope - delta) * call.scale;
      for (let e = 0; e < width; e++) {
        result.query[query + e]! += step * k[key + j * width + e]!;
        result.key[key + j * width + e]! += step * q[query + e]!;
      }
    });
  });
  return result;
}
