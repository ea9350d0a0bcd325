/**
 * @file Operators of the `com.microsoft` domain that exported transformers use, without the attentions.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, matmul, stack } from '@tessera/tensor';
import type { NodeCall } from '../run/node-call.js';
import type { ListOperatorTable, OperatorTable } from '../registry.js';
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

/** Gelu of the sum with a bias, where there is one. */
function withBias(call: NodeCall, approximate: 'none' | 'tanh'): Tensor {
  const bias = call.optional(1);
  const x = call.tensor(0);
  return F.gelu(bias === null ? x : x.add(bias), { approximate });
}

/** Operators with one output. */
export const contribs: OperatorTable = {
  MatMulNBits: matMulNBits,
  RotaryEmbedding: rotaryEmbedding,
  Gelu: (call) => F.gelu(call.tensor(0)),
  BiasGelu: (call) => withBias(call, 'none'),
  FastGelu: (call) => withBias(call, 'tanh'),
  QuickGelu: (call) => {
    const x = call.tensor(0);
    return x.mul(x.mul(call.float('alpha', 1.702)).sigmoid());
  },
};

/** The norm of x over its last dimension, by root mean square or with the mean taken off. */
function norm(x: Tensor, weight: Tensor, bias: Tensor | null, eps: number, isSimple: boolean) {
  const shape = [x.shape.at(-1)!];
  return isSimple
    ? F.rmsNorm(x, shape, { weight, eps })
    : F.layerNorm(x, shape, { weight, bias, eps });
}

/** The norm over all dimensions from an axis on, and the inverse of the root mean square. */
function simplifiedNorm(call: NodeCall): Tensor[] {
  const [x, weight] = [call.tensor(0), call.tensor(1)];
  const axis = call.dim(call.int('axis', -1), x.ndim);
  const eps = call.float('epsilon', 1e-5);
  const y = F.rmsNorm(x, x.shape.slice(axis), { weight, eps });
  if (!call.wants(1)) return [y];
  const dims = range(x.ndim - axis).map((i) => axis + i);
  return [y, x.to('float32').square().mean(dims, { keepdim: true }).add(eps).rsqrt()];
}

/** The norm of a sum, and the sum as the fourth output. */
function skipNorm(isSimple: boolean) {
  return (call: NodeCall): (Tensor | null)[] => {
    const [x, skip, weight] = [call.tensor(0), call.tensor(1), call.tensor(2)];
    const [beta, bias] = isSimple ? [null, call.optional(3)] : [call.optional(3), call.optional(4)];
    const sum = bias === null ? x.add(skip) : x.add(skip).add(bias);
    return [norm(sum, weight, beta, call.float('epsilon', 1e-12), isSimple), null, null, sum];
  };
}

/** Operators with several outputs. */
export const contribLists: ListOperatorTable = {
  SkipLayerNormalization: skipNorm(false),
  SkipSimplifiedLayerNormalization: skipNorm(true),
  SimplifiedLayerNormalization: simplifiedNorm,
};
