/**
 * @file Operators of the `com.microsoft` domain that exported language models use: weights in blocks, rotary embeddings.
 */
import { type Tensor, matmul, stack } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { OperatorTable } from '../registry.js';
import { range } from './like.js';
import { anglesAt, rotate } from './rotary.js';

/** Bytes → integers of `bits`, lowest first: the last dimension grows. */
function unpack(packed: Tensor, bits: number): Tensor {
  if (bits === 8) return packed;
  const size = 2 ** bits;
  const wide = packed.to('int32');
  const parts = range(8 / bits).map((i) =>
    wide.div(size ** i, { roundingMode: 'floor' }).remainder(size),
  );
  return stack(parts, -1).reshape([...packed.shape.slice(0, -1), -1]);
}

/** x Wᵀ with W [N, K] in blocks along K: (q - zero) · scale, q of `bits` bits. */
function matMulNBits(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const [n, k] = [call.int('N'), call.int('K')];
  const [bits, block] = [call.int('bits', 4), call.int('block_size')];
  const blocks = Math.ceil(k / block);
  const q = unpack(call.tensor(1).reshape([n, blocks, -1]), bits).to(x.dtype);
  const scales = call.tensor(2).reshape([n, blocks, 1]).to(x.dtype);
  const zero = (): Tensor | number => {
    const given = call.optional(3);
    if (given === null) return 2 ** (bits - 1);
    if (given.dtype !== 'uint8') return given.reshape([n, blocks, 1]).to(x.dtype);
    // Rows are filled up to whole bytes.
    const rows = unpack(given.reshape([n, -1]), bits).narrow(1, 0, blocks);
    return rows.reshape([n, blocks, 1]).to(x.dtype);
  };
  const weight = q
    .sub(zero())
    .mul(scales)
    .reshape([n, blocks * block])
    .narrow(1, 0, k);
  const y = matmul(x, weight.t());
  const bias = call.optional(5);
  return bias === null ? y : y.add(bias);
}

function rotaryEmbedding(call: NodeCall): Tensor {
  const x = call.tensor(0);
  const [cosCache, sinCache] = [call.tensor(2), call.tensor(3)];
  const isFlat = x.ndim === 3;
  const rotated = call.int('rotary_embedding_dim', 0) || 2 * cosCache.shape[1]!;
  const heads = call.int('num_heads', 0) || x.shape[2]! / rotated;
  const split = isFlat
    ? x.reshape([x.shape[0]!, x.shape[1]!, heads, x.shape[2]! / heads]).permute([0, 2, 1, 3])
    : x;
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
  return isFlat ? y.permute([0, 2, 1, 3]).reshape(x.shape) : y;
}

/** Operators with one output. */
export const contribs: OperatorTable = {
  MatMulNBits: matMulNBits,
  RotaryEmbedding: rotaryEmbedding,
};
