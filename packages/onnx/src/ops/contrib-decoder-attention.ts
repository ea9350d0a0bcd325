/**
 * @file The attention of one new token to a cache, as decoders of beam searches are exported.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, cat } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { ListOperatorTable } from '../registry.js';
import { joinHeads, splitHeads } from './attention.js';
import { both, paddingMask, places } from './attention-masks.js';

/** Query, key and value of a token as [B, heads, 1, E], or a key and value that the encoder gives. */
function operands(call: NodeCall, heads: number): [Tensor, Tensor, Tensor] {
  const first = call.tensor(0);
  if (first.ndim !== 3 || first.shape[1] !== 1)
    call.fail(`query is [${first.shape.join(', ')}] instead of [B, 1, width]`);
  const bias = call.optional(10);
  const isPacked = !call.has(1);
  const whole = isPacked && bias !== null ? first.add(bias) : first;
  if (isPacked) {
    const width = whole.shape[2]! / 3;
    const part = (i: number): Tensor => splitHeads(whole.narrow(2, i * width, width), heads);
    return [part(0), part(1), part(2)];
  }
  if (!call.has(2)) call.fail('key is given, and value is missing');
  let start = 0;
  const projected = (input: number): Tensor => {
    const x = call.tensor(input);
    if (x.ndim === 4) return x;
    const width = x.shape[2]!;
    const own = bias === null ? x : x.add(bias.narrow(0, start, width));
    start += width;
    return splitHeads(own, heads);
  };
  return [projected(0), projected(1), projected(2)];
}

/** A cache [B, heads, P, E] whose entries each come from the beam that a table names for their position. */
function ofBeams(call: NodeCall, past: Tensor): Tensor {
  const table = call.optional(9);
  if (table === null) return past;
  const [rows, heads, length, width] = past.shape;
  const beams = table.shape[1]!;
  const first = places(call, rows).div(beams, { roundingMode: 'floor' }).mul(beams);
  const own = table.reshape([rows, -1]).narrow(1, 0, length).to('int64');
  const from = own.add(first.reshape([rows, 1])).reshape([rows, 1, length, 1]);
  return past.gather(0, from.expand([rows, heads, length, width]));
}

function decoderAttention(call: NodeCall): (Tensor | null)[] {
  const heads = call.int('num_heads');
  const [query, key, value] = operands(call, heads);
  const isCross = key.ndim === 4 && call.has(1) && call.tensor(1).ndim === 4;
  const isShared = call.flag('past_present_share_buffer');
  const caches = [5, 6].map((input) => (isCross ? null : call.optional(input)));
  const used = isShared ? call.number(7) : (caches[0]?.shape[2] ?? 0);
  const [keys, values] = [key, value].map((fresh, i) => {
    const cache = caches[i] ?? null;
    return cache === null || used === 0
      ? fresh
      : cat([ofBeams(call, cache.narrow(2, 0, used)), fresh], 2);
  });
  let mask = call.optional(4);
  const flags = call.optional(3);
  if (flags !== null) {
    const seen = flags.ne(0).reshape([flags.shape[0]!, 1, 1, keys.shape[2]!]);
    mask = both(mask, paddingMask(call, seen, query));
  }
  const scale = call.float('scale', 0) || 1 / Math.sqrt(query.shape[3]!);
  const y = (): Tensor =>
    F.scaledDotProductAttention(query, keys, values, { attnMask: mask, scale });
  // What is kept is not the beams' order of the past: the table goes on telling it.
  const present = (i: 0 | 1, input: 1 | 2): Tensor | null => {
    if (isCross || !call.wants(input)) return null;
    const [cache, fresh] = [caches[i] ?? null, [key, value][i]!];
    if (cache === null) return fresh;
    const joined = cat([cache.narrow(2, 0, used), fresh], 2);
    const room = cache.shape[2]! - used - 1;
    return isShared && room > 0 ? cat([joined, cache.narrow(2, used + 1, room)], 2) : joined;
  };
  const scores = call.wants(3) ? query.matmul(keys.transpose(2, 3)).mul(scale) : null;
  return [joinHeads(y()), present(0, 1), present(1, 2), scores];
}

/** Operators with several outputs. */
export const contribDecoderAttention: ListOperatorTable = {
  DecoderMaskedMultiHeadAttention: decoderAttention,
};
