/**
 * @file Shapes, indices, grids, transforms and distances of the contrib domain give what onnxruntime gives.
 */
import { type Attributes, floats, ints } from './support/build-model.js';
import { type Contrib, type Numbers, given, noise } from './support/beside-onnxruntime.js';
import {
  type Case,
  type Refused,
  describeLikeOnnxruntime,
  describeRefused,
} from './support/like-onnxruntime.js';

const F32 = 'float32' as const;
const int64 = (dims: readonly number[], data: readonly number[]): Numbers =>
  given('int64', dims, data);
const scalar = (value: number): Numbers => given(F32, [], [value]);
const node = (
  op: string,
  inputs: readonly (Numbers | null)[],
  attributes: Attributes = {},
): Contrib => ({ op, inputs, attributes });

const shapes: Case[] = [
  ['Trilu', node('Trilu', [noise([2, 3, 4], 1)])],
  ['Trilu: upper 0, k', node('Trilu', [noise([3, 4], 1), int64([], [1])], { upper: 0 })],
  ['Range', node('Range', [scalar(1), scalar(6), scalar(1.5)])],
  ['Range: without a step', node('Range', [scalar(1), scalar(6)])],
  ['Pad', node('Pad', [noise([2, 3], 2), int64([4], [1, 0, 0, 2])])],
  ['Pad: value', node('Pad', [noise([2, 3], 2), int64([4], [1, 0, 0, 2]), scalar(7)])],
  ['Pad: reflect', node('Pad', [noise([2, 3], 2), int64([4], [1, 0, 0, 2])], { mode: 'reflect' })],
  ['Pad: edge', node('Pad', [noise([2, 3], 2), int64([4], [1, 0, 0, 2])], { mode: 'edge' })],
  ['Pad: less than nothing', node('Pad', [noise([2, 3], 2), int64([4], [0, -1, 1, 0])])],
  ['ExpandDims', node('ExpandDims', [noise([2, 3], 3), given('int32', [], [1])])],
  ['ExpandDims: from the end', node('ExpandDims', [noise([2, 3], 3), given('int32', [], [-1])])],
  [
    'Unique',
    {
      ...node('Unique', [given(F32, [6], [2, 1, 1, 3, 4, 3])]),
      outputs: [F32, 'int64', 'int64'],
    },
  ],
  ['GatherND', node('GatherND', [noise([2, 3, 4], 4), int64([2, 2], [0, 1, 1, 2])])],
  ['SampleOp', node('SampleOp', [noise([2, 3], 5)])],
  [
    'TorchEmbedding',
    {
      ...node('TorchEmbedding', [noise([5, 3], 6), int64([2, 2], [4, 0, 1, 2])]),
      instead: { nodes: [{ op: 'Gather', in: ['in0', 'in1'], out: ['out0'] }] },
    },
  ],
  [
    'NGramRepeatBlock: pairs',
    node('NGramRepeatBlock', [int64([2, 5], [1, 2, 3, 1, 2, 4, 4, 4, 0, 4]), noise([2, 6], 7)], {
      ngram_size: 2,
    }),
  ],
  [
    'NGramRepeatBlock: triples',
    node('NGramRepeatBlock', [int64([2, 5], [1, 2, 3, 1, 2, 4, 4, 4, 0, 4]), noise([2, 6], 7)], {
      ngram_size: 3,
    }),
  ],
  [
    'NGramRepeatBlock: longer than the sequence',
    node('NGramRepeatBlock', [int64([1, 2], [1, 2]), noise([1, 6], 7)], { ngram_size: 3 }),
  ],
];

const image = noise([2, 3, 5, 6], 8);
const grid = { ...noise([2, 3, 2, 2], 9), data: noise([2, 3, 2, 2], 9).data.map((x) => x * 1.3) };
const boxes = given(F32, [3, 4], [0, 0, 1, 1, 0.1, 0.2, 0.7, 0.9, -0.2, 0.3, 1.1, 0.6]);
const crop = (height: number, width: number, attributes: Attributes = {}): Contrib =>
  node(
    'CropAndResize',
    [image, boxes, given('int32', [3], [0, 1, 1]), given('int32', [2], [height, width])],
    attributes,
  );
const images: Case[] = [
  ...(['bilinear', 'nearest', 'bicubic'] as const).flatMap((mode) =>
    ([0, 1] as const).map((align): Case => [
      `GridSample: ${mode}, align_corners ${align}`,
      node('GridSample', [image, grid], { mode, align_corners: align }),
    ]),
  ),
  ...(['border', 'reflection'] as const).map((padding): Case => [
    `GridSample: padding_mode ${padding}`,
    node('GridSample', [image, grid], { padding_mode: padding }),
  ]),
  ['CropAndResize', crop(4, 3)],
  ['CropAndResize: nearest', crop(4, 3, { mode: 'nearest' })],
  ['CropAndResize: one row', crop(1, 4)],
  ['CropAndResize: extrapolation_value', crop(4, 3, { extrapolation_value: { float: 9 } })],
];

const complex = [noise([2, 3, 2], 10), noise([3, 2], 11)];
const complexNodes = (conjugate: boolean): Contrib['instead'] => ({
  constants: [ints('zero', [], [0]), ints('one', [], [1]), ints('last', [1], [-1])],
  nodes: [
    ...['in0', 'in1'].flatMap((name) => [
      { op: 'Gather', in: [name, 'zero'], out: [`${name}.re`], attributes: { axis: -1 } },
      {
        op: 'Gather',
        in: [name, 'one'],
        out: [name === 'in1' && conjugate ? 'plain' : `${name}.im`],
        attributes: { axis: -1 },
      },
    ]),
    ...(conjugate ? [{ op: 'Neg', in: ['plain'], out: ['in1.im'] }] : []),
    { op: 'Mul', in: ['in0.re', 'in1.re'], out: ['rr'] },
    { op: 'Mul', in: ['in0.im', 'in1.im'], out: ['ii'] },
    { op: 'Mul', in: ['in0.re', 'in1.im'], out: ['ri'] },
    { op: 'Mul', in: ['in0.im', 'in1.re'], out: ['ir'] },
    { op: 'Sub', in: ['rr', 'ii'], out: ['re'] },
    { op: 'Add', in: ['ri', 'ir'], out: ['im'] },
    { op: 'Unsqueeze', in: ['re', 'last'], out: ['re1'] },
    { op: 'Unsqueeze', in: ['im', 'last'], out: ['im1'] },
    { op: 'Concat', in: ['re1', 'im1'], out: ['out0'], attributes: { axis: -1 } },
  ],
});
const regular = given(F32, [2, 2, 2], [2, 1, 0.5, 3, -1, 0.2, 0.3, 4]);
const signals: Case[] = [
  [
    'Rfft',
    {
      ...node('Rfft', [noise([2, 6], 12)], { signal_ndim: 1, onesided: 1, normalized: 0 }),
      instead: {
        constants: [ints('last', [1], [-1])],
        nodes: [
          { op: 'Unsqueeze', in: ['in0', 'last'], out: ['x'] },
          { op: 'DFT', in: ['x'], out: ['out0'], attributes: { axis: 1, onesided: 1 } },
        ],
      },
    },
  ],
  [
    'Irfft',
    {
      ...node('Irfft', [given(F32, [1, 3, 2], [0.5, 0, 1.5, -0.7, -0.2, 0])]),
      instead: {
        constants: [
          ints('order', [4], [0, 1, 2, 1]),
          floats('signs', [1, 4, 2], [1, 1, 1, 1, 1, 1, 1, -1]),
          ints('zero', [], [0]),
        ],
        nodes: [
          { op: 'Gather', in: ['in0', 'order'], out: ['all'], attributes: { axis: 1 } },
          { op: 'Mul', in: ['all', 'signs'], out: ['whole'] },
          { op: 'DFT', in: ['whole'], out: ['y'], attributes: { axis: 1, inverse: 1 } },
          { op: 'Gather', in: ['y', 'zero'], out: ['out0'], attributes: { axis: 2 } },
        ],
      },
    },
  ],
  ['ComplexMul', { ...node('ComplexMul', complex), instead: complexNodes(false) }],
  ['ComplexMulConj', { ...node('ComplexMulConj', complex), instead: complexNodes(true) }],
  ['CDist', node('CDist', [noise([3, 4], 13), noise([5, 4], 14)])],
  ['CDist: metric', node('CDist', [noise([3, 4], 13), noise([5, 4], 14)], { metric: 'euclidean' })],
  ['Inverse', node('Inverse', [regular])],
];

const refused: Refused[] = [
  [
    'rows of different lengths',
    node('CDist', [noise([3, 4], 13), noise([5, 3], 14)]),
    'onnx-invalid',
    /rows of 4 and of 3 elements have no distance/,
  ],
  [
    'a metric that there is not',
    node('CDist', [noise([3, 4], 13), noise([5, 4], 14)], { metric: 'cosine' }),
    'onnx-invalid',
    /attribute 'metric' is 'cosine' instead of euclidean, sqeuclidean/,
  ],
  [
    'a transform of images',
    node('Rfft', [noise([2, 4, 4], 1)], { signal_ndim: 2 }),
    'onnx-unsupported',
    /signal_ndim other than 1 is not supported/,
  ],
  [
    'numbers that are not complex',
    node('ComplexMul', [noise([2, 3], 1), noise([2, 3], 2)]),
    'onnx-invalid',
    /the last dimension of complex numbers has size 2/,
  ],
  [
    'a step of 0',
    node('Range', [scalar(1), scalar(6), scalar(0)]),
    'onnx-invalid',
    /its step is 0/,
  ],
  [
    'pads of another count',
    node('Pad', [noise([2, 3], 2), int64([3], [1, 0, 0])]),
    'onnx-invalid',
    /3 pads for 2 axes/,
  ],
  [
    'a mode of crops that there is not',
    crop(2, 2, { mode: 'cubic' }),
    'onnx-invalid',
    /attribute 'mode' is 'cubic' instead of bilinear, nearest/,
  ],
];

describeLikeOnnxruntime({ shapes, images, signals });
describeRefused(refused);
