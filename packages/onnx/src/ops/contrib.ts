/**
 * @file Operators of the `com.microsoft` domain that exported language models use: rotary embeddings.
 */
import type { Tensor } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';
import { joinHeads, splitHeads } from './attention.js';
import { anglesAt, rotate } from './rotary.js';

function rotaryEmbedding(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const [cosCache, sinCache] = [call.tensor(2), call.tensor(3)];
  const isFlat = x.ndim === 3;
  const rotated = call.int('rotary_embedding_dim', 0) || 2 * cosCache.shape[1]!;
  const heads = call.int('num_heads', 0) || x.shape[2]! / rotated;
  const split = isFlat ? splitHeads(x, heads) : x;
  const given = call.tensor(1).to('int64');
  // One number is where the sequence starts.
  const length = split.shape[2]!;
  const positions =
    given.ndim === 1
      ? given.add(
          cosCache.select(1, 0).narrow(0, 0, length).mul(0).to('int64').add(1).cumsum(0).sub(1),
        )
      : given;
  const y = rotate(split, {
    cos: anglesAt(cosCache, positions),
    sin: anglesAt(sinCache, positions),
    interleaved: call.flag('interleaved'),
  });
  return isFlat ? joinHeads(y) : y;
}

/** Operators with one output. */
export const contribs: OperatorTable = {
  RotaryEmbedding: rotaryEmbedding,
};
