/**
 * @file What operators do at the edges of their definitions, beside onnxruntime; found by random attributes.
 */
import type { Tensor } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { importOnnx } from '../src/index.js';
import { type Contrib, fileOf, given, inputsOf, noise } from './support/beside-onnxruntime.js';
import type { Attributes } from './support/build-model.js';
import { type Case, describeLikeOnnxruntime, describeRefused } from './support/like-onnxruntime.js';

const INT64 = 'int64' as const;
const list = (...numbers: number[]): Contrib['inputs'][number] =>
  given(INT64, [numbers.length], numbers);

const node = (
  op: string,
  inputs: Contrib['inputs'],
  attributes: Attributes = {},
  opset = 17,
): Contrib => ({ op, domain: '', inputs, attributes, opset });

/** From a place back to the front: ends, the largest number, are none. */
const slices = [2 ** 31 - 1, -(2 ** 31)].map((end): Case => [
  `backwards to ${end}`,
  node('Slice', [noise([3, 5], 1), list(3, 9), list(end, end), list(1, 0), list(-1, -2)]),
]);

const squeezes: Case[] = [
  ['axes that are an empty list', node('Squeeze', [noise([1, 3, 1, 2], 1), list()])],
  ['axes', node('Squeeze', [noise([1, 3, 1, 2], 1), list(-2)])],
];

const pads = (['wrap', 'reflect', 'edge'] as const).flatMap((mode) =>
  [
    [0, -1, 0, 2],
    [1, 2, -1, -2],
    [0, -1, -1, -1],
  ].map((each): Case => [
    `${mode} by ${each.join(', ')}`,
    node('Pad', [noise([4, 6], 1), list(...each)], { mode }, 19),
  ]),
);

/** Windows smaller than their strides leave the result smaller than what SAME asks for. */
const transposed = ['SAME_UPPER', 'SAME_LOWER'].flatMap((mode) =>
  [1, 2, 3, 4].map((kernel): Case => [
    `${mode}, windows of ${kernel}`,
    node('ConvTranspose', [noise([1, 2, 5], 1), noise([2, 3, kernel], 2)], {
      auto_pad: mode,
      strides: [3],
    }),
  ]),
);

const grids = [0, 1].flatMap((corners) =>
  [
    [2, 1, 1, 3],
    [2, 1, 2, 1],
    [2, 1, 1, 1],
  ].map((sizes): Case => [
    `${sizes.join(' × ')}, ${corners === 1 ? 'corners' : 'edges'}`,
    node('AffineGrid', [noise([2, 2, 3], 1), list(...sizes)], { align_corners: corners }, 20),
  ]),
);

/** Positions are float32: some lie on an element only as those. */
/** Places that are no numbers, of which the standard says nothing, are the first; at the edge that is half outside. */
const places = [
  ...(['linear', 'nearest', 'cubic'] as const).flatMap((mode) =>
    ['zeros', 'border', 'reflection'].map((padding_mode) => ({ mode, padding_mode })),
  ),
  { align_corners: 1 },
].map((attributes): Case => [
  `sampling ${Object.values(attributes).join(' ')}`,
  node(
    'GridSample',
    [
      noise([1, 2, 4, 5], 1),
      given('float32', [1, 1, 4, 2], [NaN, 0.2, 0.1, -Infinity, Infinity, NaN, -0.3, 0.6]),
    ],
    attributes,
    20,
  ),
]);

const crops = ['ceil', 'floor'].map((nearest): Case => [
  nearest,
  node(
    'Resize',
    [
      noise([1, 1, 6, 4, 2], 1),
      given('float32', [10], [0, 0, 0.1, 0.1, 0, 1, 1, 1, 1, 0.8].map(Math.fround)),
      given('float32', [5], [1, 1, 3, 2.5, 1.5]),
    ],
    {
      mode: 'nearest',
      nearest_mode: nearest,
      coordinate_transformation_mode: 'tf_crop_and_resize',
      extrapolation_value: { float: 1.5 },
    },
    13,
  ),
]);

/** Within the image, over its edges, outside of it, and smaller than an element. */
const BOXES = [
  ...[0, 0, 0, 7, 9],
  ...[1, 1.5, 2.5, 30, 11.7],
  ...[1, 40, 40, 50, 50],
  ...[0, 5, 5, 5.2, 5.1],
];

const rois = [1, 0.5].flatMap((scale) =>
  [
    [2, 3],
    [1, 1],
    [7, 5],
  ].map((bins): Case => [
    `${bins.join(' × ')} at ${scale}`,
    node(
      'MaxRoiPool',
      [noise([2, 3, 9, 12], 1), given('float32', [4, 5], BOXES.map(Math.fround))],
      {
        pooled_shape: bins,
        spatial_scale: { float: scale },
      },
    ),
  ]),
);

/** Four single numbers, three pairs, two runs of three; places of the result in another order. */
const GRAMS: Attributes = {
  ngram_counts: [0, 4, 10],
  ngram_indexes: [7, 1, 2, 3, 0, 5, 8, 4, 6],
  pool_int64s: [2, 3, 5, 4, ...[5, 6, 7, 8, 6, 7], ...[2, 3, 4, 3, 2, 2]],
};
const WEIGHTS = { weights: { floats: [0.5, 2, 1, 1.5, 3, 1, 2, 0.75, 0.25] } };
const TEXT = [2, 3, 4, 5, 6, 7, 8, 6, 7, 3, 2, 2, 5, 5, 6, 4, 2, 5];

const grams = ['TF', 'IDF', 'TFIDF'].flatMap((mode) =>
  ([[18], [2, 9], [6, 3], [9, 2]] as const).flatMap((dims) =>
    [0, 2].map((skip): Case => [
      `${mode} of [${dims.join(', ')}], ${skip} left out`,
      node('TfIdfVectorizer', [given(INT64, dims, TEXT)], {
        ...GRAMS,
        ...(skip === 0 ? {} : WEIGHTS),
        mode,
        min_gram_length: skip === 0 ? 1 : 2,
        max_gram_length: 3,
        max_skip_count: skip,
      }),
    ]),
  ),
);

describeLikeOnnxruntime({ slices, squeezes, pads, transposed, grids, places, crops, rois, grams });

describeRefused([
  [
    'a pool of strings',
    node('TfIdfVectorizer', [list(1, 2)], {
      ...GRAMS,
      mode: 'TF',
      pool_strings: ['a'],
      min_gram_length: 1,
      max_gram_length: 1,
      max_skip_count: 0,
    }),
    'onnx-unsupported',
    /a pool of strings is not supported/,
  ],
  [
    'fewer places than runs',
    node('TfIdfVectorizer', [list(1, 2)], {
      ...GRAMS,
      ngram_indexes: [0, 1],
      mode: 'TF',
      min_gram_length: 1,
      max_gram_length: 1,
      max_skip_count: 0,
    }),
    'onnx-invalid',
    /2 ngram_indexes for the runs of its pool/,
  ],
  [
    'bins of one dimension',
    node('MaxRoiPool', [noise([2, 3, 9, 12], 1), noise([1, 5], 2)], { pooled_shape: [2] }),
    'onnx-invalid',
    /pooled_shape has no two numbers/,
  ],
]);

it('a box takes the gradient to its largest elements', async () => {
  const contrib = rois[0]![1];
  const model = await importOnnx(fileOf(contrib));
  const { in0, in1 } = inputsOf(contrib);
  in0!.requiresGrad_();
  const { out0 } = model.call({ in0: in0!, in1: in1! });
  (out0 as typeof in0)!.sum().backward();
  const total = in0!.grad!.sum().item() as number;
  // Each bin with elements has one of them: of four boxes one lies outside, and one with its last column.
  expect(total).toBeCloseTo(3 * (3 * 6 - 2));
});

it('a bin of -∞ is none without elements: -∞ is its largest', async () => {
  // onnxruntime starts from the smallest number that is not infinite, and would give that one.
  const low = -Infinity;
  const image = [
    ...[low, low, 2, low],
    ...[low, low, low, low],
    ...[-3, low, low, low],
    ...[low, low, low, low],
  ];
  const boxes = [...[0, 0, 0, 3, 3], ...[0, 3, 3, 3, 3], ...[0, 9, 0, 12, 3]];
  const contrib = node(
    'MaxRoiPool',
    [given('float32', [1, 1, 4, 4], image), given('float32', [3, 5], boxes)],
    { pooled_shape: [2, 2] },
  );
  const { out0 } = (await importOnnx(fileOf(contrib))).call(inputsOf(contrib));
  expect((out0 as Tensor).reshape([3, 4]).tolist()).toEqual([
    [low, 2, -3, low],
    [low, low, low, low],
    [0, 0, 0, 0],
  ]);
});
