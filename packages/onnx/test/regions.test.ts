/**
 * @file Pooled boxes and deformed convolutions beside onnxruntime; gradients, triangles in mel, remainders of zero.
 */
import { tensor } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { importOnnx } from '../src/index.js';
import { fileOf, given, inputsOf, noise } from './support/beside-onnxruntime.js';
import { model, value } from './support/build-model.js';
import { type Case, describeLikeOnnxruntime, describeRefused } from './support/like-onnxruntime.js';

/** One within an image, one between its elements, one over its edge, one smaller than an element. */
const BOXES = [...[0, 0, 7, 9], ...[1.3, 2.2, 20, 11.7], ...[-3, -4, 4.4, 5], ...[5, 5, 5.2, 5.1]];

const boxes = (['avg', 'max'] as const).flatMap((mode) =>
  (['half_pixel', 'output_half_pixel'] as const).flatMap((kind) =>
    [0, 2].map((ratio): Case => [
      `${mode}, ${kind}, ${ratio} samples`,
      {
        op: 'RoiAlign',
        domain: '',
        inputs: [
          noise([2, 3, 9, 12], 1),
          given('float32', [4, 4], BOXES.map(Math.fround)),
          given('int64', [4], [0, 1, 1, 0]),
        ],
        attributes: {
          mode,
          coordinate_transformation_mode: kind,
          output_height: 3,
          output_width: 2,
          sampling_ratio: ratio,
          spatial_scale: 0.5,
        },
      },
    ]),
  ),
);

/** A box whose corners are the wrong way round has no samples. */
const empty: Case = [
  'largest of no samples',
  {
    op: 'RoiAlign',
    domain: '',
    inputs: [
      noise([1, 2, 5, 6], 2),
      given('float32', [1, 4], [4, 4, 1, 1]),
      given('int64', [1], [0]),
    ],
    attributes: { mode: 'max', output_height: 2, output_width: 2 },
  },
];

/** Count, length of the transform, sampling rate, and the range in hertz. */
const triangles = [
  [4, 16, 8000, 0, 4000],
  [6, 64, 16_000, 125.5, 7600],
].map(([count, length, rate, low, high]): Case => [
  `${count} triangles over ${length! / 2 + 1} frequencies`,
  {
    op: 'MelWeightMatrix',
    domain: '',
    inputs: [
      ...[count, length, rate].map((x) => given('int64', [], [x!])),
      ...[low, high].map((x) => given('float32', [], [x!])),
    ],
  },
]);

describeLikeOnnxruntime({ 'pooled boxes': [...boxes, empty], 'triangles in mel': triangles });

it('convolves with offsets of nothing, a half to the right, and a mask, as by hand', async () => {
  const offsets = [...[0, 0, 0], ...[0, 0.5, 1]];
  const spec = {
    op: 'DeformConv',
    domain: '',
    inputs: [
      given('float32', [1, 1, 1, 3], [1, 3, 7]),
      given('float32', [1, 1, 1, 1], [2]),
      given('float32', [1, 2, 1, 3], offsets),
      given('float32', [1], [10]),
      given('float32', [1, 1, 1, 3], [1, 1, 0.5]),
    ],
    outputs: ['float32'],
  } as const;
  const run = await importOnnx(fileOf(spec));
  const [y] = Object.values(run.call(inputsOf(spec)));
  // 3 and 7 have 5 between them; one to the right of 7 there is nothing.
  expect((y as ReturnType<typeof tensor>).toArray()).toEqual([[[[12, 20, 10]]]]);
});

it('gives the zero of a remainder the sign of the divisor', async () => {
  const file = model({
    inputs: [value('a', [4]), value('b', [4])],
    outputs: [value('y', [4])],
    nodes: [{ op: 'Mod', in: ['a', 'b'], out: ['y'] }],
  });
  const { y } = (await importOnnx(file)).call(tensor([0, -0, 4, 3]), tensor([-2, 2, -2, -2]));
  expect(y!.toArray()).toEqual([-0, 0, -0, -1]);
});

describeRefused([
  [
    'casts to floats of eight bits',
    { op: 'Cast', domain: '', inputs: [noise([2], 1)], attributes: { to: 17 } },
    'onnx-unsupported',
    /a cast to FLOAT8E4M3FN is not supported/,
  ],
]);
