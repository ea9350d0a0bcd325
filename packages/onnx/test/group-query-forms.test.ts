/**
 * @file Forms of `GroupQueryAttention` that are seldom written: caches of whole numbers, no causal mask, scores as an
 * output, norms of query and key.
 */
import { type Contrib, type Numbers, given, noise, whole } from './support/beside-onnxruntime.js';
import { type Case, describeLikeOnnxruntime, describeRefused } from './support/like-onnxruntime.js';
import { ints } from './support/build-model.js';

const F32 = 'float32' as const;
const HEADS = 4;
const SHARED = 2;
const SIZE = 8;

interface Form {
  readonly length?: number;
  readonly cache?: readonly [Numbers, Numbers] | null;
  readonly total?: number;
  readonly attributes?: Contrib['attributes'];
  /** Inputs from the eighth on. */
  readonly rest?: readonly (Numbers | null)[];
  readonly outputs?: Contrib['outputs'];
  readonly compared?: number;
}

const floats = (length: number): [Numbers, Numbers] => [
  noise([1, SHARED, length, SIZE], 4),
  noise([1, SHARED, length, SIZE], 5),
];

function form({
  length = 3,
  cache = floats(5),
  total = length + (cache?.[0].dims[2] ?? 0),
  attributes = {},
  rest = [],
  outputs = [F32, F32, F32],
  compared = 4,
}: Form): Contrib {
  return {
    op: 'GroupQueryAttention',
    inputs: [
      noise([1, length, HEADS * SIZE], 1),
      noise([1, length, SHARED * SIZE], 2),
      noise([1, length, SHARED * SIZE], 3),
      ...(cache ?? [null, null]),
      given('int32', [1], [total - 1]),
      given('int32', [1], [total]),
      ...rest,
    ],
    attributes: { num_heads: HEADS, kv_num_heads: SHARED, ...attributes },
    outputs,
    compared,
  };
}

const masks = [0, 1].flatMap((causal) =>
  [
    { title: 'behind a past' },
    { title: 'a prompt', cache: null },
    { title: 'a cache with room', cache: floats(12), total: 8, compared: 1 },
    { title: 'capped', attributes: { softcap: { float: 0.5 } } },
  ].map(({ title, attributes, ...rest }): Case => [
    `causal ${causal}, ${title}`,
    form({ ...rest, attributes: { ...attributes, causal } }),
  ]),
);

const WITH_SCORES = [F32, F32, F32, F32];
const bias = noise([1, 1, 3, 8], 6);
const asked: readonly (Form & { readonly title: string })[] = [
  { title: 'behind a past' },
  { title: 'all tokens', attributes: { causal: 0 } },
  { title: 'a window', attributes: { local_window_size: 3 } },
  {
    title: 'capped, with a bias',
    attributes: { softcap: { float: 2 } },
    rest: [null, null, null, bias],
  },
  { title: 'sinks', rest: [null, null, null, null, noise([HEADS], 7)] },
];
const scores = [1, 2].flatMap((kind) =>
  asked.map(({ title, attributes, ...rest }): Case => [
    `${kind === 1 ? 'before' : 'after'} softmax, ${title}`,
    form({ ...rest, attributes: { ...attributes, qk_output: kind }, outputs: WITH_SCORES }),
  ]),
);

const one = given(F32, [1], [Math.fround(0.02)]);
const each = (seed: number): Numbers => {
  const { dims, data } = noise([1, SHARED, 1, SIZE], seed);
  return given(
    F32,
    dims,
    data.map((x) => Math.fround(0.02 + 0.01 * x)),
  );
};

const bytes = (seed: number, bits: number): Numbers =>
  bits === 8
    ? whole('int8', [1, SHARED, 5, SIZE], [-128, 128], seed)
    : whole('uint8', [1, SHARED, 5, SIZE / 2], [0, 256], seed);

const caches = [8, 4].flatMap((bits) =>
  (['PER_TENSOR', 'PER_CHANNEL'] as const).flatMap((type) =>
    [1, 3].map((length): Case => [
      `${bits} bits, ${type}, ${length} new`,
      form({
        length,
        cache: [bytes(8, bits), bytes(9, bits)],
        total: 5 + length,
        attributes: { k_quant_type: type, v_quant_type: type, kv_cache_bit_width: bits },
        rest: [
          ...[null, null, null, null, null],
          ...(type === 'PER_TENSOR' ? [one, one] : [each(10), each(11)]),
        ],
        outputs: bits === 8 ? [F32, 'int8', 'int8'] : [F32, 'uint8', 'uint8'],
      }),
    ]),
  ),
);

/** onnxruntime's CPU has no norms of query and key: the same in two nodes. */
const weights = [noise([SIZE], 12), noise([SIZE], 13)];
const plain = form({ attributes: { qk_norm_epsilon: { float: 0.01 } } });
const part = (name: string, count: number, weight: string) => [
  { op: 'Reshape', in: [name, 'apart'], out: [`${name}.heads`] },
  {
    op: 'SimplifiedLayerNormalization',
    in: [`${name}.heads`, weight],
    out: [`${name}.normed`],
    attributes: { epsilon: { float: 0.01 } },
  },
  { op: 'Reshape', in: [`${name}.normed`, `whole${count}`], out: [`${name}.whole`] },
];
const norms: Case[] = [
  [
    'q_norm_weight and k_norm_weight',
    {
      ...plain,
      inputs: [...plain.inputs, ...Array<null>(7).fill(null), ...weights],
      instead: {
        nodes: [
          ...part('in0', HEADS, 'in14'),
          ...part('in1', SHARED, 'in15'),
          {
            op: 'GroupQueryAttention',
            domain: 'com.microsoft',
            in: ['in0.whole', 'in1.whole', 'in2', 'in3', 'in4', 'in5', 'in6'],
            out: ['out0', 'out1', 'out2'],
            attributes: { num_heads: HEADS, kv_num_heads: SHARED },
          },
        ],
        constants: [
          ints('apart', [4], [0, 0, -1, SIZE]),
          ints(`whole${HEADS}`, [3], [0, 0, HEADS * SIZE]),
          ints(`whole${SHARED}`, [3], [0, 0, SHARED * SIZE]),
        ],
      },
    },
  ],
];

describeLikeOnnxruntime({ masks, scores, caches, norms });

describeRefused([
  [
    'a cache of a window alone',
    form({ attributes: { local_window_size: 3, sliding_window_cache: 1 } }),
    'onnx-unsupported',
    /sliding_window_cache is not supported/,
  ],
  [
    'a cache of three bits',
    form({
      cache: [bytes(8, 8), bytes(9, 8)],
      attributes: { k_quant_type: 'PER_TENSOR', kv_cache_bit_width: 3 },
      rest: [null, null, null, null, null, one, one],
    }),
    'onnx-invalid',
    /kv_cache_bit_width is 3 instead of 4 or 8/,
  ],
]);
