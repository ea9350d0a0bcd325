/**
 * @file The attention of one token to a cache gives what onnxruntime gives: caches with and without room, beams, and
 * the attention to an encoder.
 */
import { type Attributes, ints as ints64 } from './support/build-model.js';
import { type Contrib, type Numbers, given, noise } from './support/beside-onnxruntime.js';
import {
  type Case,
  type Refused,
  describeLikeOnnxruntime,
  describeRefused,
} from './support/like-onnxruntime.js';

const F32 = 'float32' as const;
const [q, k, v] = [noise([2, 1, 8], 1), noise([2, 1, 8], 2), noise([2, 1, 8], 3)];
const past = (length: number, rows = 2): [Numbers, Numbers] => [
  noise([rows, 2, length, 4], 4),
  noise([rows, 2, length, 4], 5),
];
const ints = (dims: readonly number[], data: readonly number[]): Numbers =>
  given('int32', dims, data);

interface Token {
  readonly qkv?: readonly (Numbers | null)[];
  readonly mask?: Numbers;
  readonly added?: Numbers;
  readonly caches?: readonly [Numbers, Numbers];
  readonly used?: number;
  readonly beams?: readonly [Numbers, Numbers];
  readonly bias?: Numbers;
  readonly attributes?: Attributes;
  readonly outputs?: Contrib['outputs'];
  readonly compared?: number;
}
const token = (of: Token): Contrib => ({
  op: 'DecoderMaskedMultiHeadAttention',
  inputs: [
    ...(of.qkv ?? [q, k, v]),
    of.mask ?? null,
    of.added ?? null,
    ...(of.caches ?? [null, null]),
    of.used === undefined ? null : ints([1], [of.used]),
    ...(of.beams ?? [null, null]),
    of.bias ?? null,
  ],
  attributes: { num_heads: 2, ...of.attributes },
  outputs: of.outputs ?? [F32, F32, F32],
  compared: of.compared ?? Infinity,
});
const shared = { past_present_share_buffer: 1 };
/** A cache with room for this token only, as onnxruntime's CPU takes it. */
const full = { caches: past(4), used: 3, attributes: shared };
const encoder = [q, noise([2, 2, 5, 4], 6), noise([2, 2, 5, 4], 7)];

const cases: Case[] = [
  ['a full cache', token(full)],
  [
    'a past without room',
    {
      ...token({ caches: past(3) }),
      instead: {
        constants: [ints64('room', [8], [0, 0, 0, 0, 0, 0, 1, 0]), ints64('three', [1], [3])],
        nodes: [
          { op: 'Pad', in: ['in5', 'room'], out: ['keys'] },
          { op: 'Pad', in: ['in6', 'room'], out: ['values'] },
          { op: 'Cast', in: ['three'], out: ['used'], attributes: { to: 6 } },
          {
            op: 'DecoderMaskedMultiHeadAttention',
            domain: 'com.microsoft',
            in: ['in0', 'in1', 'in2', '', '', 'keys', 'values', 'used'],
            out: ['out0', 'out1', 'out2'],
            attributes: { num_heads: 2, ...shared },
          },
        ],
      },
    },
  ],
  ['bias', token({ ...full, bias: noise([24], 8) })],
  ['mask', token({ ...full, mask: ints([2, 4], [1, 0, 1, 1, 0, 0, 1, 1]) })],
  [
    'mask_filter_value',
    token({
      ...full,
      mask: ints([2, 4], [1, 0, 1, 1, 0, 0, 1, 1]),
      attributes: { ...shared, mask_filter_value: { float: -2 } },
    }),
  ],
  ['attention_bias', token({ ...full, added: noise([1, 2, 1, 4], 9) })],
  ['scale', token({ ...full, attributes: { ...shared, scale: { float: 0.3 } } })],
  ['a cache with room', token({ caches: past(6), used: 3, attributes: shared, compared: 1 })],
  [
    // onnxruntime 1.30 refuses packed queries on the CPU.
    'packed',
    {
      ...token({ qkv: [noise([2, 1, 24], 10), null, null], ...full }),
      instead: {
        nodes: [
          { op: 'Split', in: ['in0'], out: ['q', 'k', 'v'], attributes: { axis: 2 } },
          {
            op: 'DecoderMaskedMultiHeadAttention',
            domain: 'com.microsoft',
            in: ['q', 'k', 'v', '', '', 'in5', 'in6', 'in7'],
            out: ['out0', 'out1', 'out2'],
            attributes: { num_heads: 2, ...shared },
          },
        ],
      },
    },
  ],
  ['an encoder', token({ qkv: encoder, outputs: [F32] })],
  [
    'an encoder, mask',
    token({
      qkv: encoder,
      mask: ints([2, 5], [1, 1, 0, 1, 0, 1, 1, 1, 1, 0]),
      outputs: [F32],
    }),
  ],
  [
    'output_qk',
    token({ qkv: encoder, outputs: [F32, null, null, F32], attributes: { output_qk: 1 } }),
  ],
  [
    'beams',
    token({
      qkv: [noise([4, 1, 8], 1), noise([4, 1, 8], 2), noise([4, 1, 8], 3)],
      caches: past(6, 4),
      used: 3,
      attributes: shared,
      beams: [
        ints([1], [2]),
        ints([2, 2, 6], [0, 1, 1, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1]),
      ],
      compared: 1,
    }),
  ],
];

const refused: Refused[] = [
  [
    'several tokens',
    token({ qkv: [noise([2, 3, 8], 1), k, v] }),
    'onnx-invalid',
    /query is \[2, 3, 8\] instead of \[B, 1, width\]/,
  ],
  [
    'a key without a value',
    token({ qkv: [q, k, null] }),
    'onnx-invalid',
    /key is given, and value is missing/,
  ],
];

describeLikeOnnxruntime({ DecoderMaskedMultiHeadAttention: cases });
describeRefused(refused);
