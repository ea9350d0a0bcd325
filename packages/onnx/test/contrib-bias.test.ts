/**
 * @file Sums with a bias and position biases give what standard operators give in onnxruntime, whose CPU does not have
 * the fused ones.
 */
import { floats, ints } from './support/build-model.js';
import { type Contrib, given, noise } from './support/beside-onnxruntime.js';
import {
  type Case,
  type Refused,
  describeLikeOnnxruntime,
  describeRefused,
} from './support/like-onnxruntime.js';

const [x, skip, gamma] = [noise([2, 3, 8], 1), noise([2, 3, 8], 2), noise([8], 3)];

const sums: Case[] = [
  [
    'BiasAdd',
    {
      op: 'BiasAdd',
      inputs: [x, gamma, skip],
      instead: {
        nodes: [
          { op: 'Add', in: ['in0', 'in1'], out: ['sum'] },
          { op: 'Add', in: ['sum', 'in2'], out: ['out0'] },
        ],
      },
    },
  ],
  [
    'BiasSplitGelu',
    {
      op: 'BiasSplitGelu',
      inputs: [x, gamma],
      instead: {
        nodes: [
          { op: 'Add', in: ['in0', 'in1'], out: ['sum'] },
          { op: 'Split', in: ['sum'], out: ['value', 'gate'], attributes: { axis: -1 } },
          { op: 'Gelu', domain: 'com.microsoft', in: ['gate'], out: ['open'] },
          { op: 'Mul', in: ['value', 'open'], out: ['out0'] },
        ],
      },
    },
  ],
  ...(
    [
      ['inner', 1, [2, 1, 4, 5], [2, 1, 4, 5]],
      ['outer', 0, [3, 4, 5], [1, 3, 4, 5]],
    ] as const
  ).map(([title, inner, dims, spread]): Case => [
    `BiasSoftmax: axis, is_inner_broadcast ${title}`,
    {
      op: 'BiasSoftmax',
      inputs: [noise([2, 3, 4, 5], 13), noise(inner === 1 ? [2, 1, 4, 5] : dims, 14)],
      attributes: { axis: inner === 1 ? 2 : 3, is_inner_broadcast: inner },
      instead: {
        constants: [
          ints('spread', [4], spread),
          ints('flat', [3], [2, 3, 20]),
          ints('whole', [4], [2, 3, 4, 5]),
        ],
        nodes: [
          { op: 'Reshape', in: ['in1', 'spread'], out: ['bias'] },
          { op: 'Add', in: ['in0', 'bias'], out: ['sum'] },
          ...(inner === 1
            ? [
                { op: 'Reshape', in: ['sum', 'flat'], out: ['rows'] },
                { op: 'Softmax', in: ['rows'], out: ['y'] },
                { op: 'Reshape', in: ['y', 'whole'], out: ['out0'] },
              ]
            : [{ op: 'Softmax', in: ['sum'], out: ['out0'] }]),
        ],
      },
    },
  ]),
  [
    'BiasDropout: outside of training',
    {
      op: 'BiasDropout',
      inputs: [x, gamma, skip],
      instead: {
        nodes: [
          { op: 'Add', in: ['in0', 'in1'], out: ['sum'] },
          { op: 'Add', in: ['sum', 'in2'], out: ['out0'] },
        ],
      },
    },
  ],
];

/** Buckets of relative positions by hand: eight of them, distances up to eight. */
const [decoder, both] = [
  (i: number, j: number) => [0, 1, 2, 3, 4, 5][Math.max(0, i - j)]!,
  (i: number, j: number) => (j > i ? 4 : 0) + [0, 1, 2, 2, 3, 3][Math.abs(i - j)]!,
];
const relative = (
  bucket: (i: number, j: number) => number,
  attributes: Record<string, number>,
): Contrib => ({
  op: 'RelativePositionBias',
  inputs: [noise([8, 2], 15), given('int64', [1], [6]), given('int64', [1], [6])],
  attributes: { max_distance: 8, ...attributes },
  instead: {
    constants: [
      ints(
        'at',
        [6, 6],
        Array.from({ length: 36 }, (_, at) => bucket(Math.floor(at / 6), at % 6)),
      ),
      ints('front', [1], [0]),
    ],
    nodes: [
      { op: 'Gather', in: ['in0', 'at'], out: ['found'] },
      { op: 'Transpose', in: ['found'], out: ['heads'], attributes: { perm: [2, 0, 1] } },
      { op: 'Unsqueeze', in: ['heads', 'front'], out: ['out0'] },
    ],
  },
});
const positions: Case[] = [
  ['RelativePositionBias: of a decoder', relative(decoder, {})],
  ['RelativePositionBias: is_bidirectional', relative(both, { is_bidirectional: 1 })],
  [
    'GatedRelativePositionBias',
    {
      op: 'GatedRelativePositionBias',
      inputs: [
        noise([2, 3, 8], 16),
        noise([8], 17),
        noise([1, 2, 3, 3], 18),
        noise([4, 6], 19),
        noise([6], 20),
        noise([1, 2, 1, 1], 21),
      ],
      attributes: { num_heads: 2 },
      instead: {
        constants: [
          ints('heads', [4], [2, 3, 2, 4]),
          ints('halves', [5], [2, 2, 3, 2, 3]),
          ints('inner', [1], [-1]),
          floats('one', [], [1]),
          floats('two', [], [2]),
        ],
        nodes: [
          { op: 'Add', in: ['in0', 'in1'], out: ['query'] },
          { op: 'Reshape', in: ['query', 'heads'], out: ['split'] },
          { op: 'Transpose', in: ['split'], out: ['q'], attributes: { perm: [0, 2, 1, 3] } },
          { op: 'MatMul', in: ['q', 'in3'], out: ['product'] },
          { op: 'Add', in: ['product', 'in4'], out: ['gates'] },
          { op: 'Reshape', in: ['gates', 'halves'], out: ['pair'] },
          { op: 'ReduceSum', in: ['pair', 'inner'], out: ['sum'], attributes: { keepdims: 0 } },
          { op: 'Sigmoid', in: ['sum'], out: ['open'] },
          { op: 'Split', in: ['open'], out: ['u', 'r'], attributes: { axis: 3 } },
          { op: 'Mul', in: ['r', 'in5'], out: ['scaled'] },
          { op: 'Sub', in: ['scaled', 'one'], out: ['less'] },
          { op: 'Mul', in: ['u', 'less'], out: ['times'] },
          { op: 'Add', in: ['times', 'two'], out: ['gate'] },
          { op: 'Mul', in: ['gate', 'in2'], out: ['out0'] },
        ],
      },
    },
  ],
];

const refused: Refused[] = [
  [
    'halves of an odd width',
    { op: 'BiasSplitGelu', inputs: [noise([2, 3], 1), noise([3], 2)] },
    'onnx-invalid',
    /rows of 3 elements have no halves/,
  ],
  [
    'a bias of another size',
    {
      op: 'BiasSoftmax',
      inputs: [noise([2, 3, 4], 1), noise([5], 2)],
      attributes: { is_inner_broadcast: 0 },
    },
    'onnx-invalid',
    /a bias of 5 elements does not fit 2 rows of 12/,
  ],
  [
    'a dropout in training',
    {
      op: 'BiasDropout',
      inputs: [x, gamma, skip, given('float32', [], [0.5]), given('bool', [], [1])],
    },
    'onnx-unsupported',
    /training_mode is not supported/,
  ],
];

describeLikeOnnxruntime({ sums, positions });
describeRefused(refused);
