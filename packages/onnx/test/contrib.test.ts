/**
 * @file Operators of the `com.microsoft` domain give what onnxruntime gives, attribute by attribute.
 */
import { type Contrib, type Numbers, given, noise } from './support/beside-onnxruntime.js';
import { type Case, describeLikeOnnxruntime } from './support/like-onnxruntime.js';

const F32 = 'float32' as const;
const x = noise([2, 3, 8], 1);
const gamma = noise([8], 2);
const beta = noise([8], 3);
const bias = noise([8], 4);
const skip = noise([2, 3, 8], 5);

const norms: Case[] = [
  [
    'SimplifiedLayerNormalization',
    { op: 'SimplifiedLayerNormalization', domain: '', inputs: [x, gamma] },
  ],
  [
    'SimplifiedLayerNormalization: epsilon',
    {
      op: 'SimplifiedLayerNormalization',
      domain: '',
      inputs: [x, gamma],
      attributes: { epsilon: 0.1 },
    },
  ],
  [
    'SimplifiedLayerNormalization: axis',
    {
      op: 'SimplifiedLayerNormalization',
      domain: '',
      inputs: [x, noise([3, 8], 6)],
      attributes: { axis: 1 },
    },
  ],
  ['SkipLayerNormalization', { op: 'SkipLayerNormalization', inputs: [x, skip, gamma] }],
  [
    'SkipLayerNormalization: beta, bias, epsilon and the sum',
    {
      op: 'SkipLayerNormalization',
      inputs: [x, skip, gamma, beta, bias],
      attributes: { epsilon: 0.1 },
      outputs: [F32, null, null, F32],
    },
  ],
  [
    'SkipLayerNormalization: a skip that all of the batch share',
    { op: 'SkipLayerNormalization', inputs: [x, noise([3, 8], 7), gamma, beta] },
  ],
  [
    'SkipSimplifiedLayerNormalization: bias, epsilon and the sum',
    {
      op: 'SkipSimplifiedLayerNormalization',
      inputs: [x, skip, gamma, bias],
      attributes: { epsilon: 0.1 },
      outputs: [F32, null, null, F32],
    },
  ],
];

const activations: Case[] = [
  ['Gelu', { op: 'Gelu', inputs: [x] }],
  ['FastGelu', { op: 'FastGelu', inputs: [x] }],
  ['FastGelu: bias', { op: 'FastGelu', inputs: [x, bias] }],
  ['BiasGelu', { op: 'BiasGelu', inputs: [x, bias] }],
  ['QuickGelu', { op: 'QuickGelu', inputs: [x] }],
  ['QuickGelu: alpha', { op: 'QuickGelu', inputs: [x], attributes: { alpha: 0.5 } }],
];

const [a, b] = [noise([2, 3, 4], 8), noise([2, 4, 5], 9)];
const products: Case[] = [
  ['FusedMatMul', { op: 'FusedMatMul', inputs: [a, b] }],
  ['FusedMatMul: alpha', { op: 'FusedMatMul', inputs: [a, b], attributes: { alpha: 0.25 } }],
  [
    'FusedMatMul: transA',
    { op: 'FusedMatMul', inputs: [noise([2, 4, 3], 8), b], attributes: { transA: 1 } },
  ],
  [
    'FusedMatMul: transB',
    { op: 'FusedMatMul', inputs: [a, noise([2, 5, 4], 8)], attributes: { transB: 1 } },
  ],
  [
    'FusedMatMul: transBatchA',
    { op: 'FusedMatMul', inputs: [noise([3, 2, 4], 8), b], attributes: { transBatchA: 1 } },
  ],
  [
    'FusedMatMul: transBatchA and transA',
    {
      op: 'FusedMatMul',
      inputs: [noise([4, 2, 3], 8), b],
      attributes: { transBatchA: 1, transA: 1 },
    },
  ],
  [
    'FusedMatMul: transBatchB',
    { op: 'FusedMatMul', inputs: [a, noise([4, 2, 5], 8)], attributes: { transBatchB: 1 } },
  ],
];

const [cos, sin] = [noise([16, 4], 16), noise([16, 4], 17)];
const positions = given('int64', [2, 3], [0, 1, 2, 5, 6, 7]);
const rotary = (
  input: Numbers,
  at: Numbers,
  attributes: Record<string, number> = {},
  tables: [Numbers, Numbers] = [cos, sin],
): Contrib => ({ op: 'RotaryEmbedding', inputs: [input, at, ...tables], attributes });
const rotaries: Case[] = [
  ['RotaryEmbedding', rotary(noise([2, 3, 16], 18), positions)],
  ['RotaryEmbedding: interleaved', rotary(noise([2, 3, 16], 18), positions, { interleaved: 1 })],
  ['RotaryEmbedding: one offset', rotary(noise([2, 3, 16], 18), given('int64', [1], [4]))],
  ['RotaryEmbedding: [B, heads, L, E]', rotary(noise([2, 2, 3, 8], 18), positions)],
  [
    'RotaryEmbedding: num_heads and rotary_embedding_dim',
    rotary(noise([2, 3, 16], 18), positions, { num_heads: 2, rotary_embedding_dim: 4 }, [
      noise([16, 2], 19),
      noise([16, 2], 20),
    ]),
  ],
];

const multiHead = (
  inputs: readonly (Numbers | null)[],
  attributes: Record<string, number | { float: number }> = {},
  outputs: Contrib['outputs'] = [F32],
): Contrib => ({
  op: 'MultiHeadAttention',
  inputs,
  outputs,
  attributes: { num_heads: 2, ...attributes },
});
const [q, k, v] = [noise([2, 3, 8], 21), noise([2, 5, 8], 22), noise([2, 5, 8], 23)];
const past = [noise([2, 2, 4, 4], 24), noise([2, 2, 4, 4], 25)] as const;
const multiHeads: Case[] = [
  ['MultiHeadAttention', multiHead([q, k, v])],
  ['MultiHeadAttention: bias', multiHead([q, k, v, noise([24], 26)])],
  ['MultiHeadAttention: scale', multiHead([q, k, v], { scale: 0.3 })],
  ['MultiHeadAttention: unidirectional', multiHead([q, q, q], { unidirectional: 1 })],
  [
    'MultiHeadAttention: padding as lengths',
    multiHead([q, k, v, null, given('int32', [2], [3, 5])]),
  ],
  [
    'MultiHeadAttention: padding as flags',
    multiHead([q, k, v, null, given('int32', [2, 5], [1, 0, 1, 1, 0, 1, 1, 1, 0, 1])]),
  ],
  [
    'MultiHeadAttention: mask_filter_value',
    multiHead([q, k, v, null, given('int32', [2, 5], [1, 0, 1, 1, 0, 1, 1, 1, 0, 1])], {
      mask_filter_value: { float: -2 },
    }),
  ],
  ['MultiHeadAttention: attention bias', multiHead([q, k, v, null, null, noise([2, 2, 3, 5], 27)])],
  [
    'MultiHeadAttention: attention bias that heads share',
    multiHead([q, k, v, null, null, noise([1, 1, 3, 5], 27)]),
  ],
  [
    'MultiHeadAttention: past and present',
    multiHead([q, k, v, null, null, null, ...past], {}, [F32, F32, F32]),
  ],
  [
    'MultiHeadAttention: key and value as [B, heads, S, E]',
    multiHead([q, noise([2, 2, 5, 4], 28), noise([2, 2, 5, 4], 29)]),
  ],
];

interface Group {
  readonly length?: number;
  readonly past?: number;
  /** Length of each sequence with this call, less one. */
  readonly last?: readonly number[];
  readonly total?: number;
  readonly batch?: number;
  readonly compared?: number;
  readonly packed?: boolean;
  readonly attributes?: Contrib['attributes'];
  readonly rest?: readonly (Numbers | null)[];
}

/** Four heads of query and two of key and value, of 16 each. */
function group({
  length = 3,
  past: kept = 0,
  batch = 2,
  last = Array<number>(batch).fill(length + kept - 1),
  total = length + kept,
  packed = false,
  attributes = {},
  rest = [],
  compared = 3,
}: Group): Contrib {
  const tokens = packed
    ? [noise([batch, length, 128], 30), null, null]
    : [
        noise([batch, length, 64], 30),
        noise([batch, length, 32], 31),
        noise([batch, length, 32], 32),
      ];
  const cache =
    kept === 0 ? [null, null] : [noise([batch, 2, kept, 16], 33), noise([batch, 2, kept, 16], 34)];
  return {
    op: 'GroupQueryAttention',
    inputs: [
      ...tokens,
      ...cache,
      given('int32', [batch], last),
      given('int32', [1], [total]),
      ...rest,
    ],
    attributes: { num_heads: 4, kv_num_heads: 2, ...attributes },
    outputs: [F32, F32, F32],
    compared,
  };
}

const tables = [noise([32, 8], 35), noise([32, 8], 36)];
const groups: Case[] = [
  ['GroupQueryAttention: a prompt', group({})],
  ['GroupQueryAttention: packed', group({ packed: true })],
  ['GroupQueryAttention: a token behind a past', group({ length: 1, past: 5 })],
  ['GroupQueryAttention: several tokens behind a past', group({ length: 3, past: 5, batch: 1 })],
  [
    'GroupQueryAttention: a cache with room for more',
    group({ length: 1, past: 8, last: [5, 5], total: 6, compared: 1 }),
  ],
  [
    'GroupQueryAttention: sequences of different lengths',
    group({ length: 1, past: 5, last: [5, 2], total: 6, compared: 1 }),
  ],
  ['GroupQueryAttention: scale', group({ attributes: { scale: 0.7 } })],
  ['GroupQueryAttention: softcap', group({ attributes: { softcap: { float: 0.5 } } })],
  [
    'GroupQueryAttention: local_window_size',
    group({ length: 6, attributes: { local_window_size: 3 } }),
  ],
  [
    'GroupQueryAttention: local_window_size behind a past',
    group({ length: 1, past: 7, attributes: { local_window_size: 3 } }),
  ],
  ['GroupQueryAttention: do_rotary', group({ attributes: { do_rotary: 1 }, rest: tables })],
  [
    'GroupQueryAttention: do_rotary behind a past, interleaved',
    group({
      length: 1,
      past: 5,
      attributes: { do_rotary: 1, rotary_interleaved: 1 },
      rest: tables,
    }),
  ],
  [
    'GroupQueryAttention: packed, do_rotary',
    group({ packed: true, length: 1, past: 5, attributes: { do_rotary: 1 }, rest: tables }),
  ],
  ['GroupQueryAttention: smooth_softmax', group({ attributes: { smooth_softmax: 1 } })],
  [
    'GroupQueryAttention: attention bias',
    group({ rest: [null, null, null, noise([1, 1, 3, 3], 37)] }),
  ],
  ['GroupQueryAttention: head sinks', group({ rest: [null, null, null, null, noise([4], 38)] })],
];

describeLikeOnnxruntime({
  norms,
  activations,
  products,
  'rotary embeddings': rotaries,
  attention: multiHeads,
  'attention with shared heads': groups,
});
