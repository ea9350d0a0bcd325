/**
 * @file Attention of the `com.microsoft` domain whose projections are one matrix, as BERT and GPT-2 are exported: over
 * floats (`Attention`), and over quantized numbers (`QAttention`).
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, cat, matmul, stack } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { ListOperatorTable } from '../registry.js';
import { splitHeads, joinHeads } from './attention.js';
import { addedMask, both, causalMask, paddingMask, places } from './attention-masks.js';
import { scaling } from './scaling.js';

/** Which inputs hold what; null for those that an operator does not have. */
interface Inputs {
  readonly mask: number;
  readonly past: number;
  readonly bias: number | null;
  readonly pastLength: number | null;
}

/** Which keys each query sees, of a mask's many forms: [B, 1, L or 1, S]. @throws onnx-invalid */
function seenKeys(call: NodeCall, mask: Tensor, batch: number, length: number, keys: number) {
  const { shape } = mask;
  const at = places(call, keys);
  const bound = (start: number): Tensor =>
    mask.narrow(0, start, batch).to('int64').reshape([batch, 1, 1, 1]);
  // Ends of the sequences; ends and starts; or ends and offsets, of which the ends decide.
  if (mask.ndim === 1 && shape[0] === batch) return at.lt(bound(0));
  if (mask.ndim === 1 && shape[0] === 2 * batch)
    return at.lt(bound(0)).logicalAnd(at.ge(bound(batch)));
  if (mask.ndim === 1 && shape[0] === 3 * batch + 2) return at.lt(bound(0));
  const flags = mask.ne(0);
  if (mask.ndim === 2 && shape[1] === keys) return flags.reshape([shape[0]!, 1, 1, keys]);
  if (mask.ndim === 3 && shape[1] === length && shape[2] === keys) return flags.unsqueeze(1);
  if (mask.ndim === 4 && shape[2]! >= keys && shape[3]! >= keys)
    return flags.narrow(2, keys - length, length).narrow(3, 0, keys);
  return call.fail(
    `mask_index is [${shape.join(', ')}]: it may be [B], [2 B], [3 B + 2], [B, S], [B, L, S] or [B, 1, M, M], ` +
      `with B = ${batch}, L = ${length} queries and S = ${keys} keys`,
  );
}

/** What is added to the scores by mask, direction and bias; null if it is nothing. */
function scoreBias(call: NodeCall, inputs: Inputs, query: Tensor, keys: number): Tensor | null {
  const [batch, , length] = query.shape;
  let bias = inputs.bias === null ? null : call.optional(inputs.bias);
  const mask = call.optional(inputs.mask);
  if (mask !== null) {
    const seen = seenKeys(call, mask, batch, length, keys);
    bias = both(bias, paddingMask(call, seen, query));
  }
  if (!call.flag('unidirectional')) return bias;
  return both(bias, addedMask(causalMask(call, length, keys), query));
}

/** Keys and values behind those of a past [2, B, heads, P, E], and what is kept of both for the next call. */
function withPast(call: NodeCall, inputs: Inputs, fresh: readonly [Tensor, Tensor]) {
  const past = call.optional(inputs.past);
  if (past === null) return { all: fresh, present: () => stack([...fresh], 0) };
  if (past.ndim !== 5 || past.shape[0] !== 2)
    call.fail(`past is [${past.shape.join(', ')}] instead of [2, B, heads, P, E]`);
  const isShared = call.flag('past_present_share_buffer');
  // A shared buffer has room: how much of it is the past is an input.
  if (isShared && inputs.pastLength === null) call.unsupported('past_present_share_buffer');
  const used = isShared ? call.number(inputs.pastLength!) : past.shape[3]!;
  const joined = (i: 0 | 1): Tensor => cat([past.select(0, i).narrow(2, 0, used), fresh[i]], 2);
  const all: readonly [Tensor, Tensor] = [joined(0), joined(1)];
  const present = (): Tensor => {
    const both = stack([...all], 0);
    const filled = both.shape[3]!;
    const room = past.shape[3]! - filled;
    return isShared && room > 0 ? cat([both, past.narrow(3, filled, room)], 3) : both;
  };
  return { all, present };
}

/** Attention over projections [B, L, Q + K + V] of these widths. */
function attend(
  call: NodeCall,
  projected: Tensor,
  widths: readonly number[],
  inputs: Inputs,
): Tensor[] {
  if (call.flag('do_rotary')) call.unsupported('do_rotary');
  const heads = call.int('num_heads');
  for (const width of widths)
    if (heads <= 0 || width % heads !== 0)
      call.fail(`${heads} heads cannot share a width of ${width}`);
  let start = 0;
  const [query, key, value] = widths.map((width) =>
    splitHeads(projected.narrow(2, (start += width) - width, width), heads),
  );
  const { all, present } = withPast(call, inputs, [key, value]);
  const attnMask = scoreBias(call, inputs, query, all[0].shape[2]!);
  const scale = call.float('scale', 0) || 1 / Math.sqrt(query.shape[3]!);
  const y = joinHeads(F.scaledDotProductAttention(query, ...all, { attnMask, scale }));
  return call.wants(1) ? [y, present()] : [y];
}

/** Widths of query, key and value: as the attribute says, or a third each. @throws onnx-invalid */
function widthsOf(call: NodeCall, total: number): readonly number[] {
  const given = call.ints('qkv_hidden_sizes') ?? [];
  const widths = given.length === 0 ? [total / 3, total / 3, total / 3] : given;
  if (widths.length !== 3 || widths[0]! + widths[1]! + widths[2]! !== total)
    call.fail(`qkv_hidden_sizes is [${given.join(', ')}], and the weights have ${total} columns`);
  if (widths[0] !== widths[1]) call.fail('query and key have different widths');
  return widths;
}

function attention(call: NodeCall): Tensor[] {
  const product = matmul(call.tensor(0), call.tensor(1));
  const bias = call.optional(2);
  const projected = bias === null ? product : product.add(bias);
  const widths = widthsOf(call, projected.shape[2]!);
  return attend(call, projected, widths, { mask: 3, past: 4, bias: 5, pastLength: 6 });
}

/** Inputs are x, weight, bias, scales of both, mask, zero points of both, past. */
function quantizedAttention(call: NodeCall): Tensor[] {
  const x = call.tensor(0).to('float32').sub(scaling(call, 6));
  const weight = call.tensor(1).to('float32').sub(scaling(call, 7));
  const product = matmul(x, weight).mul(scaling(call, 3)).mul(scaling(call, 4));
  const projected = product.add(call.tensor(2));
  const widths = widthsOf(call, projected.shape[2]!);
  return attend(call, projected, widths, { mask: 5, past: 8, bias: null, pastLength: null });
}

/** Operators with several outputs. */
export const contribPackedAttention: ListOperatorTable = {
  Attention: attention,
  QAttention: quantizedAttention,
};
