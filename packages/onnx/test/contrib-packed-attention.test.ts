/**
 * @file Attention with packed projections gives what onnxruntime gives: masks of every form, past and present, and the
 * quantized form.
 */
import type { Tensor } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { importOnnx } from '../src/index.js';
import { type Attributes, floats, ints as ints64 } from './support/build-model.js';
import {
  type Contrib,
  type Numbers,
  fileOf,
  given,
  inputsOf,
  noise,
  whole,
} from './support/beside-onnxruntime.js';
import {
  type Case,
  type Refused,
  describeLikeOnnxruntime,
  describeRefused,
} from './support/like-onnxruntime.js';

const F32 = 'float32' as const;
const [x, weight, bias] = [noise([2, 3, 8], 1), noise([8, 24], 2), noise([24], 3)];
const past = noise([2, 2, 2, 4, 4], 4);

const attention = (
  {
    mask = null,
    kept = null,
    added = null,
  }: Partial<Record<'mask' | 'kept' | 'added', Numbers | null>>,
  attributes: Attributes = {},
): Contrib => ({
  op: 'Attention',
  inputs: [x, weight, bias, mask, kept, added],
  attributes: { num_heads: 2, ...attributes },
  outputs: kept === null ? [F32] : [F32, F32],
});
const ints = (dims: readonly number[], data: readonly number[]): Numbers =>
  given('int32', dims, data);
const flags = [1, 0, 1, 1, 1, 0];
const causal = { unidirectional: 1 };

const masks: Case[] = [
  ['no mask', attention({})],
  [
    // onnxruntime 1.30 crashes without a bias: with one of zeros it computes the same.
    'no bias of the projection',
    {
      ...attention({}),
      inputs: [x, weight],
      instead: {
        nodes: [
          {
            op: 'Attention',
            domain: 'com.microsoft',
            in: ['in0', 'in1', 'zeros'],
            out: ['out0'],
            attributes: { num_heads: 2 },
          },
        ],
        constants: [floats('zeros', [24], Array<number>(24).fill(0))],
      },
    },
  ],
  ['ends of the sequences', attention({ mask: ints([2], [2, 3]) })],
  ['ends and starts', attention({ mask: ints([4], [3, 2, 1, 0]) })],
  ['flags by key', attention({ mask: ints([2, 3], flags) })],
  [
    'flags by key, of a past too',
    attention({ mask: ints([2, 7], [...flags, 1, 1, 0, 0, 1, 1, 1, 1]), kept: past }),
  ],
  [
    'flags by query and key',
    attention({ mask: ints([2, 3, 3], [...flags, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1, 0]) }),
  ],
  [
    'mask_filter_value',
    attention({ mask: ints([2, 3], flags) }, { mask_filter_value: { float: -2 } }),
  ],
  ['unidirectional', attention({}, causal)],
  ['unidirectional with flags by key', attention({ mask: ints([2, 3], flags) }, causal)],
  [
    'unidirectional with padding on the left',
    attention({ mask: ints([2, 3], [0, 1, 1, 0, 0, 1]) }, causal),
  ],
  ['unidirectional behind a past', attention({ kept: past }, causal)],
  ['past and present', attention({ kept: past })],
  ['present without a past', { ...attention({}), outputs: [F32, F32] }],
  ['attention_bias', attention({ added: noise([2, 2, 3, 3], 5) })],
  ['attention_bias that all share', attention({ added: noise([1, 1, 3, 3], 5) })],
  ['scale', attention({}, { scale: { float: 0.3 } })],
  [
    'qkv_hidden_sizes',
    {
      op: 'Attention',
      inputs: [x, noise([8, 28], 2), noise([28], 3)],
      attributes: { num_heads: 2, qkv_hidden_sizes: [8, 8, 12] },
    },
  ],
];

/** What onnxruntime's CPU does not take, as what it takes: an input cut along one dimension first. */
const cutFirst = (
  contrib: Contrib,
  { input, axis, from, to }: Record<'input' | 'axis' | 'from' | 'to', number>,
): Contrib => {
  const inputs = contrib.inputs.map((each, i) => (each === null ? '' : `in${i}`));
  inputs[input] = 'cut';
  return {
    ...contrib,
    compared: 1,
    instead: {
      constants: [
        ints64('from', [1], [from]),
        ints64('to', [1], [to]),
        ints64('axis', [1], [axis]),
      ],
      nodes: [
        { op: 'Slice', in: [`in${input}`, 'from', 'to', 'axis'], out: ['cut'] },
        {
          op: 'Attention',
          domain: 'com.microsoft',
          in: inputs.slice(0, 6),
          out: contrib.outputs!.map((_, i) => `out${i}`),
          attributes: { num_heads: 2 },
        },
      ],
    },
  };
};

const onlyHere: Case[] = [
  [
    'ends and offsets of queries and keys',
    cutFirst(attention({ mask: ints([8], [2, 3, 0, 3, 6, 0, 3, 6]) }), {
      input: 3,
      axis: 0,
      from: 0,
      to: 2,
    }),
  ],
  [
    'past_present_share_buffer: a past with room for more',
    cutFirst(
      {
        ...attention({ kept: noise([2, 2, 2, 9, 4], 4) }, { past_present_share_buffer: 1 }),
        inputs: [x, weight, bias, null, noise([2, 2, 2, 9, 4], 4), null, ints([1], [4])],
      },
      { input: 4, axis: 3, from: 0, to: 4 },
    ),
  ],
  ['flags by query and key, more than there are', attentionOfSquare()],
];

/** A mask [B, 1, M, M] with M beyond the keys; onnxruntime's CPU takes [B, L, S]. */
function attentionOfSquare(): Contrib {
  const square = whole('int32', [2, 1, 5, 5], [0, 2], 10);
  return {
    ...attention({ mask: square }),
    instead: {
      constants: [
        ints64('zero', [2], [0, 0]),
        ints64('three', [2], [3, 3]),
        ints64('axes', [2], [2, 3]),
        ints64('one', [1], [1]),
      ],
      nodes: [
        { op: 'Slice', in: ['in3', 'zero', 'three', 'axes'], out: ['part'] },
        { op: 'Squeeze', in: ['part', 'one'], out: ['mask'] },
        {
          op: 'Attention',
          domain: 'com.microsoft',
          in: ['in0', 'in1', 'in2', 'mask'],
          out: ['out0'],
          attributes: { num_heads: 2 },
        },
      ],
    },
  };
}

const quantized = (
  {
    mask = null,
    xZero = null,
    wZero = null,
    kept = null,
    scales = given(F32, [], [0.003]),
  }: Partial<Record<'mask' | 'xZero' | 'wZero' | 'kept', Numbers | null>> & { scales?: Numbers },
  attributes: Attributes = {},
  kind: 'uint8' | 'int8' = 'uint8',
): Contrib => ({
  op: 'QAttention',
  inputs: [
    whole('uint8', [2, 3, 8], [0, 256], 6),
    whole(kind, [8, 24], kind === 'uint8' ? [0, 256] : [-128, 128], 7),
    bias,
    given(F32, [], [0.01]),
    scales,
    mask,
    xZero,
    wZero,
    kept,
  ],
  attributes: { num_heads: 2, ...attributes },
  outputs: kept === null ? [F32] : [F32, F32],
});
const zero = (value: number, kind: 'uint8' | 'int8' = 'uint8'): Numbers => given(kind, [], [value]);
const zeros = { xZero: zero(120), wZero: zero(130) };

const quantizedCases: Case[] = [
  ['no zero points', quantized({}, {}, 'int8')],
  ['zero points', quantized(zeros)],
  ['weights of int8', quantized({ xZero: zero(120), wZero: zero(3, 'int8') }, {}, 'int8')],
  [
    'a scale and zero point of each column',
    quantized({
      xZero: zero(120),
      wZero: whole('uint8', [24], [100, 150], 8),
      scales: { ...noise([24], 9), data: noise([24], 9).data.map((s) => 0.005 + s / 400) },
    }),
  ],
  ['flags by key', quantized({ ...zeros, mask: ints([2, 3], flags) })],
  ['ends of the sequences', quantized({ ...zeros, mask: ints([2], [2, 3]) })],
  [
    'mask_filter_value',
    quantized({ ...zeros, mask: ints([2, 3], flags) }, { mask_filter_value: { float: -2 } }),
  ],
  ['unidirectional', quantized(zeros, causal)],
  ['past and present', quantized({ ...zeros, kept: past }, causal)],
  ['scale', quantized(zeros, { scale: { float: 0.3 } })],
];

const refused: Refused[] = [
  [
    'a mask of no known form',
    attention({ mask: ints([3], [1, 2, 3]) }),
    'onnx-invalid',
    /mask_index is \[3\]: it may be \[B\], .*B = 2, L = 3 queries and S = 3 keys/,
  ],
  [
    'heads that do not divide',
    attention({}, { num_heads: 3 }),
    'onnx-invalid',
    /3 heads cannot share a width of 8/,
  ],
  [
    'widths that are not those of the weights',
    attention({}, { qkv_hidden_sizes: [8, 8, 4] }),
    'onnx-invalid',
    /qkv_hidden_sizes is \[8, 8, 4\], and the weights have 24 columns/,
  ],
  ['do_rotary', attention({}, { do_rotary: 1 }), 'onnx-unsupported', /do_rotary is not supported/],
  [
    'a past of another form',
    attention({ kept: noise([2, 2, 4, 4], 4) }),
    'onnx-invalid',
    /past is \[2, 2, 4, 4\] instead of \[2, B, heads, P, E\]/,
  ],
];

describeLikeOnnxruntime({
  Attention: [...masks, ...onlyHere],
  QAttention: quantizedCases,
});
describeRefused(refused);

it('halves have the lowest of their numbers for what hides padding', async () => {
  const lowest = { mask_filter_value: { float: -3.4028234663852886e38 } };
  const contrib = attention({ mask: given('int32', [2, 3], [1, 1, 1, 1, 0, 0]) }, lowest);
  const model = await importOnnx(fileOf(contrib));
  const inputs = inputsOf(contrib);
  const [wanted] = Object.values(model.call(inputs)) as [Tensor];
  const halves = Object.entries(inputs).map(([name, each]) => [
    name,
    each.dtype === 'float32' ? each.to('float16') : each,
  ]);
  const [own] = Object.values(model.call(Object.fromEntries(halves))) as [Tensor];
  expect(own.sub(wanted).abs().max().item()).toBeLessThan(5e-3);
});
