/**
 * @file Attention, recurrent cells and blocks of networks under the partitioners.
 */
import { functional as F } from '@tessera/nn';
import * as t from '@tessera/tensor';
import * as ops from '@tessera/tensor/internal';
import type { PartitionFunction } from './partition-function.js';

type Heads = readonly [t.Tensor, t.Tensor, t.Tensor];
type Gates = readonly [t.Tensor, t.Tensor, t.Tensor, t.Tensor];

const head = [2, 4, 16, 8];

function attend(q: t.Tensor, k: t.Tensor, v: t.Tensor): t.Tensor {
  return q.matmul(k.transpose(-2, -1)).div(Math.sqrt(8)).softmax(-1).matmul(v);
}

/** Rotary position embedding of halves. */
function rotated(x: t.Tensor, cos: t.Tensor, sin: t.Tensor): t.Tensor {
  const [a, b] = x.chunk(2, -1) as [t.Tensor, t.Tensor];
  return x.mul(cos).add(t.cat([b.neg(), a], -1).mul(sin));
}

function block(...inputs: t.Tensor[]): t.Tensor {
  const [x, g1, b1, qkv, out, g2, b2, wide, narrow] = inputs as [...Gates, ...Gates, t.Tensor];
  const heads = F.linear(ops.layerNorm(x, [64], { weight: g1, bias: b1 }), qkv)
    .view([2, 16, 3, 4, 16])
    .permute([2, 0, 3, 1, 4]);
  const [q, k, v] = heads.unbind(0) as unknown as Heads;
  const mixed = q.matmul(k.transpose(-2, -1)).mul(0.25).softmax(-1).matmul(v);
  const y = x.add(F.linear(mixed.transpose(1, 2).reshape([2, 16, 64]), out));
  const h = F.linear(ops.layerNorm(y, [64], { weight: g2, bias: b2 }), wide);
  return y.add(F.linear(t.gelu(h), narrow));
}

/** Attention and blocks made of it. */
const attention: readonly PartitionFunction[] = [
  {
    name: 'rope_attention',
    inputs: [head, head, head, { fixed: [16, 8] }, { fixed: [16, 8] }],
    fn: (q, k, v, cos, sin) => attend(rotated(q, cos, sin), rotated(k, cos, sin), v),
  },
  {
    name: 'masked_attention',
    inputs: [head, head, head, { mask: [16, 16] }],
    fn: (q, k, v, m) =>
      q
        .matmul(k.transpose(-2, -1))
        .div(Math.sqrt(8))
        .maskedFill(m, -Infinity)
        .softmax(-1)
        .matmul(v),
  },
  {
    name: 'sdpa_causal',
    inputs: [head, head, head],
    fn: (q, k, v) => ops.scaledDotProductAttention(q, k, v, { isCausal: true }),
  },
  {
    name: 'dropout_attention',
    inputs: [head, head, head],
    fn: (q, k, v) =>
      t
        .dropout(q.matmul(k.transpose(-2, -1)).mul(0.35).softmax(-1), { p: 0.1, training: true })
        .matmul(v),
  },
  {
    name: 'transformer_block',
    inputs: [[2, 16, 64], [64], [64], [192, 64], [64, 64], [64], [64], [256, 64], [64, 256]],
    fn: block,
  },
];

function lstmCell(...inputs: t.Tensor[]): t.Tensor {
  const [x, h, c, wi, wh, bi, bh] = inputs as [...Gates, ...Heads];
  const gates = F.linear(x, wi, bi)
    .add(F.linear(h, wh, bh))
    .chunk(4, 1);
  const [i, f, o, u] = gates as unknown as Gates;
  const cell = f.sigmoid().mul(c).add(i.sigmoid().mul(u.tanh()));
  return o.sigmoid().mul(cell.tanh());
}

function gruCell(...inputs: t.Tensor[]): t.Tensor {
  const [x, h, wi, wh, bi, bh] = inputs as [...Heads, ...Heads];
  const [ir, iz, ic] = F.linear(x, wi, bi).chunk(3, 1) as unknown as Heads;
  const [hr, hz, hc] = F.linear(h, wh, bh).chunk(3, 1) as unknown as Heads;
  const fresh = ic.add(ir.add(hr).sigmoid().mul(hc)).tanh();
  return fresh.add(iz.add(hz).sigmoid().mul(h.sub(fresh)));
}

const networks: readonly PartitionFunction[] = [
  {
    name: 'swiglu',
    inputs: [
      [32, 64],
      [128, 64],
      [128, 64],
      [64, 128],
    ],
    fn: (x, a, b, c) => F.linear(t.silu(F.linear(x, a)).mul(F.linear(x, b)), c),
  },
  {
    name: 'embedding_mlp',
    inputs: [{ indices: [4, 8], below: 100 }, [100, 32], [64, 32], [16, 64]],
    fn: (ids, table, w, u) => F.linear(F.linear(F.embedding(ids, table), w).relu(), u),
  },
  {
    name: 'highway',
    inputs: [
      [32, 64],
      [64, 64],
      [64, 64],
    ],
    fn: (x, w, u) => {
      const gate = F.linear(x, w).sigmoid();
      return gate.mul(F.linear(x, u).relu()).add(ops.rsub(gate, 1).mul(x));
    },
  },
  {
    name: 'squeeze_excite',
    inputs: [
      [4, 16, 8, 8],
      [4, 16],
      [16, 4],
    ],
    fn: (x, w, u) => {
      const scale = F.linear(F.linear(x.mean([2, 3]), w).relu(), u).sigmoid();
      return x.mul(scale.unsqueeze(2).unsqueeze(3));
    },
  },
  {
    name: 'lstm_cell',
    inputs: [[16, 32], [16, 24], [16, 24], [96, 32], [96, 24], [96], [96]],
    fn: lstmCell,
  },
  {
    name: 'gru_cell',
    inputs: [[16, 32], [16, 24], [72, 32], [72, 24], [72], [72]],
    fn: gruCell,
  },
  {
    name: 'rnn4',
    inputs: [
      [4, 8, 16],
      [8, 16],
      [16, 16],
      [16, 16],
    ],
    fn: (x, start, w, u) =>
      [0, 1, 2, 3].reduce((h, i) => F.linear(x.select(0, i), w).add(F.linear(h, u)).tanh(), start),
  },
];

/** All of them, by their recorded names. */
export const NETWORK_FUNCTIONS: readonly PartitionFunction[] = [...attention, ...networks];
