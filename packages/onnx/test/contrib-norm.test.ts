/**
 * @file Normalisations and embeddings give what onnxruntime gives; those that its
 * CPU does not have are composed of standard operators there.
 */
import { type NodeSpec, floats, ints } from './support/build-model.js';
import { type Contrib, type Numbers, given, noise } from './support/beside-onnxruntime.js';
import {
  type Case,
  type Refused,
  describeLikeOnnxruntime,
  describeRefused,
} from './support/like-onnxruntime.js';

const F32 = 'float32' as const;
const [x, skip, gamma, beta] = [
  noise([2, 3, 8], 1),
  noise([2, 3, 8], 2),
  noise([8], 3),
  noise([8], 4),
];

/** Mean and inverse deviation of each row, which onnxruntime's CPU does not give. */
const rowStatistics = (simple: boolean): Contrib['instead'] => ({
  constants: [floats('eps', [], [0.1])],
  nodes: [
    { op: 'Add', in: ['in0', 'in1'], out: ['out3'] },
    {
      op: simple ? 'SimplifiedLayerNormalization' : 'LayerNormalization',
      in: simple ? ['out3', 'in2'] : ['out3', 'in2', 'in3'],
      out: ['out0'],
      attributes: { epsilon: { float: 0.1 } },
    },
    { op: 'ReduceMean', in: ['out3'], out: ['out1'], attributes: { axes: [-1] } },
    ...(simple
      ? [{ op: 'Mul', in: ['out3', 'out3'], out: ['square'] }]
      : [
          { op: 'Sub', in: ['out3', 'out1'], out: ['centered'] },
          { op: 'Mul', in: ['centered', 'centered'], out: ['square'] },
        ]),
    { op: 'ReduceMean', in: ['square'], out: ['variance'], attributes: { axes: [-1] } },
    { op: 'Add', in: ['variance', 'eps'], out: ['shifted'] },
    { op: 'Sqrt', in: ['shifted'], out: ['deviation'] },
    { op: 'Reciprocal', in: ['deviation'], out: ['out2'] },
  ],
});

const skipNorms: Case[] = [
  [
    'SkipLayerNormalization: all outputs',
    {
      op: 'SkipLayerNormalization',
      inputs: [x, skip, gamma, beta],
      attributes: { epsilon: { float: 0.1 } },
      outputs: [F32, F32, F32, F32],
      instead: rowStatistics(false),
    },
  ],
  [
    'SkipSimplifiedLayerNormalization: all outputs',
    {
      op: 'SkipSimplifiedLayerNormalization',
      inputs: [x, skip, gamma],
      attributes: { epsilon: { float: 0.1 } },
      outputs: [F32, F32, F32, F32],
      instead: rowStatistics(true),
    },
  ],
];

const ids = given('int32', [2, 3], [4, 0, 2, 1, 5, 3]);
const segments = given('int32', [2, 3], [0, 0, 1, 0, 1, 1]);
const mask = given('int32', [2, 3], [1, 1, 0, 1, 1, 1]);
const embed = (
  rest: Partial<Record<'segments' | 'mask' | 'positions', Numbers>>,
  more: Partial<Contrib> = {},
): Contrib => ({
  op: 'EmbedLayerNormalization',
  inputs: [
    ids,
    rest.segments ?? null,
    noise([6, 8], 5),
    noise([7, 8], 6),
    rest.segments === undefined ? null : noise([2, 8], 7),
    gamma,
    beta,
    rest.mask ?? null,
    rest.positions ?? null,
  ],
  outputs: [F32, 'int32'],
  ...more,
});
const embeddings: Case[] = [
  ['words and positions', embed({})],
  ['segments', embed({ segments })],
  ['mask', embed({ segments, mask })],
  ['mask_index_type', embed({ segments, mask }, { attributes: { mask_index_type: 1 } })],
  ['position_ids', embed({ positions: given('int32', [2, 3], [2, 1, 0, 6, 5, 4]) })],
  ['position_ids that all share', embed({ positions: given('int32', [1, 3], [2, 1, 0]) })],
  ['epsilon', embed({}, { attributes: { epsilon: { float: 0.1 } } })],
  ['the sum', embed({ segments, mask }, { outputs: [F32, 'int32', F32] })],
];

const [first, last] = [{ perm: [0, 3, 1, 2] }, { perm: [0, 2, 3, 1] }];
/** GroupNorm of [N, C, H, W] from `from` to `to`: per group, then a scale and a bias of each channel. */
const groupNodes = (from: string, to: string, isSilu: boolean): NodeSpec[] => [
  { op: 'Reshape', in: [from, 'grouped'], out: ['groups'] },
  {
    op: 'InstanceNormalization',
    in: ['groups', 'ones', 'zeros'],
    out: ['normal'],
    attributes: { epsilon: { float: 0.01 } },
  },
  { op: 'Reshape', in: ['normal', 'image'], out: ['back'] },
  { op: 'Reshape', in: ['in1', 'channels'], out: ['scale'] },
  { op: 'Reshape', in: ['in2', 'channels'], out: ['shift'] },
  { op: 'Mul', in: ['back', 'scale'], out: ['scaled'] },
  { op: 'Add', in: ['scaled', 'shift'], out: [isSilu ? 'plain' : to] },
  ...(isSilu
    ? [
        { op: 'Sigmoid', in: ['plain'], out: ['gate'] },
        { op: 'Mul', in: ['plain', 'gate'], out: [to] },
      ]
    : []),
];
const constants = [
  ints('grouped', [3], [2, 2, -1]),
  ints('image', [4], [2, 4, 3, 5]),
  ints('channels', [4], [1, 4, 1, 1]),
  floats('ones', [2], [1, 1]),
  floats('zeros', [2], [0, 0]),
];
const [scale, shift] = [noise([4], 8), noise([4], 9)];
const groupAttributes = { groups: 2, epsilon: { float: 0.01 } };
const image = noise([2, 3, 5, 4], 10);
const skipGroup = (skipped: Numbers, more: readonly Numbers[] = []): Contrib => ({
  op: 'SkipGroupNorm',
  inputs: [image, scale, shift, skipped, ...more],
  attributes: { ...groupAttributes, activation: 1 },
  outputs: [F32, F32],
  instead: {
    constants: [...constants, ints('spread', [4], [2, -1, 1, 4])],
    nodes: [
      skipped.dims.length === 2
        ? { op: 'Reshape', in: ['in3', 'spread'], out: ['skip'] }
        : { op: 'Identity', in: ['in3'], out: ['skip'] },
      { op: 'Add', in: ['in0', 'skip'], out: [more.length > 0 ? 'both' : 'out1'] },
      ...(more.length > 0 ? [{ op: 'Add', in: ['both', 'in4'], out: ['out1'] }] : []),
      { op: 'Transpose', in: ['out1'], out: ['x'], attributes: first },
      ...groupNodes('x', 'y', true),
      { op: 'Transpose', in: ['y'], out: ['out0'], attributes: last },
    ],
  },
});
const groups: Case[] = [
  ...[0, 1].map((activation): Case => [
    `GroupNorm: activation ${activation}, channels last`,
    {
      op: 'GroupNorm',
      inputs: [image, scale, shift],
      attributes: { ...groupAttributes, activation },
      instead: {
        constants,
        nodes: [
          { op: 'Transpose', in: ['in0'], out: ['x'], attributes: first },
          ...groupNodes('x', 'y', activation === 1),
          { op: 'Transpose', in: ['y'], out: ['out0'], attributes: last },
        ],
      },
    },
  ]),
  [
    'GroupNorm: channels_last 0',
    {
      op: 'GroupNorm',
      inputs: [noise([2, 4, 3, 5], 10), scale, shift],
      attributes: { ...groupAttributes, activation: 0, channels_last: 0 },
      instead: { constants, nodes: groupNodes('in0', 'out0', false) },
    },
  ],
  ['SkipGroupNorm: the sum', skipGroup(noise([2, 3, 5, 4], 11))],
  ['SkipGroupNorm: a skip of each channel', skipGroup(noise([2, 4], 11))],
  ['SkipGroupNorm: bias', skipGroup(noise([2, 1, 1, 4], 11), [noise([4], 12)])],
];

const withoutTable = embed({ segments });
const refused: Refused[] = [
  [
    'segments without a table',
    { ...withoutTable, inputs: withoutTable.inputs.map((input, i) => (i === 4 ? null : input)) },
    'onnx-invalid',
    /segment_ids are given, and segment_embedding is missing/,
  ],
  [
    'an activation of groups that there is not',
    {
      op: 'GroupNorm',
      inputs: [image, scale, shift],
      attributes: { groups: 2, activation: 2 },
    },
    'onnx-invalid',
    /activation is 2 instead of 0 \(none\) or 1 \(SiLU\)/,
  ],
  [
    'groups that do not divide',
    {
      op: 'GroupNorm',
      inputs: [image, scale, shift],
      attributes: { groups: 3, activation: 0 },
    },
    'shape-mismatch',
    /3/,
  ],
];

describeLikeOnnxruntime({ skipNorms, EmbedLayerNormalization: embeddings, groups });
describeRefused(refused);
