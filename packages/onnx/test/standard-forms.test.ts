/**
 * @file Forms of standard operators that the recorded tests of the onnx package do not have, beside onnxruntime, and
 * those of sequences by hand.
 */
import { compile, explain, observeCompilations } from '@tessera/compile';
import { type Tensor, noGrad, randn, tensor } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { importOnnx } from '../src/index.js';
import { type Attributes, floats, graph, model, value } from './support/build-model.js';
import { type Case, describeLikeOnnxruntime } from './support/like-onnxruntime.js';
import { type Numbers, given, noise } from './support/beside-onnxruntime.js';

const diagonals = [-4, -3, -1, 0, 1, 2, 5].map((k): Case => [
  `diagonal ${k}`,
  { op: 'EyeLike', domain: '', inputs: [noise([3, 5], 1)], attributes: { k } },
]);

const onePixel = ['linear', 'cubic', 'nearest'].map((mode): Case => [
  `one element, ${mode}`,
  {
    op: 'Resize',
    domain: '',
    inputs: [noise([1, 1, 4, 5], 2), null, null, given('int64', [4], [1, 1, 1, 1])],
    attributes: { mode, coordinate_transformation_mode: 'pytorch_half_pixel' },
  },
]);

const scaled = (
  title: string,
  x: Numbers,
  scales: readonly number[],
  attributes: Attributes,
  opset?: number,
): Case => {
  const factors = given('float32', [scales.length], scales.map(Math.fround));
  // Before opset 11 there was no region; there it could not be left out.
  const region = opset === 11 ? given('float32', [0], []) : null;
  const inputs = opset === 10 ? [x, factors] : [x, region, factors];
  return [title, { op: 'Resize', domain: '', inputs, attributes, ...(opset && { opset }) }];
};
const halfPixel = { mode: 'nearest', coordinate_transformation_mode: 'half_pixel' };

/** Factors are float32: 0.7 of ten elements are seven, and element 3.5 / 0.7 lies at 5. */
const fractions = [
  ...[0.7, 0.9, 1.9].map((factor) =>
    scaled(`${factor} of ten`, noise([1, 1, 3, 10], 3), [1, 1, 1, factor], { mode: 'linear' }),
  ),
  scaled('halves', noise([1, 1, 6, 8], 4), [1, 1, 1.5, 0.7], halfPixel),
  scaled(
    'as TensorFlow does',
    noise([1, 1, 5, 4], 6),
    [1, 1, 2.5, 0.5],
    {
      mode: 'nearest',
      coordinate_transformation_mode: 'tf_half_pixel_for_nn',
      nearest_mode: 'floor',
    },
    11,
  ),
  scaled('smaller by opset 10', noise([1, 1, 2, 9], 7), [1, 1, 1, 0.6], { mode: 'nearest' }, 10),
];

const products = (['linear', 'cubic'] as const).flatMap((mode) =>
  ['pytorch_half_pixel', 'half_pixel', 'align_corners'].map((where): Case => {
    const sizes = given('int64', [4], [1, 2, 9, 4]);
    const inputs = [noise([1, 2, 4, 5], 8), null, null, sizes];
    const attributes = { mode, coordinate_transformation_mode: where };
    return [`${mode}, ${where}`, { op: 'Resize', domain: '', inputs, attributes }];
  }),
);

describeLikeOnnxruntime({
  'identity matrices': diagonals,
  resizing: [...onePixel, ...fractions, ...products],
});

it.each<Readonly<Record<string, string>>>([
  { mode: 'nearest', coordinate_transformation_mode: 'asymmetric', nearest_mode: 'floor' },
  { mode: 'linear', coordinate_transformation_mode: 'pytorch_half_pixel' },
])('resizes by a fraction with one code for all sizes: %j', async (attributes) => {
  const bytes = model(
    {
      inputs: [value('x', ['N', 1, 'H', 'W'])],
      outputs: [value('y', ['N', 1, 'A', 'B'])],
      nodes: [{ op: 'Resize', in: ['x', '', 'factors'], out: ['y'], attributes }],
      initializers: [floats('factors', [4], [1, 1, 1.5, 0.75])],
    },
    18,
  );
  const resizing = await importOnnx(bytes);
  const run = compile((x: Tensor) => noGrad(() => resizing.call(x).y!));
  const made: boolean[] = [];
  const stop = observeCompilations((_graph, { isShared }) => void made.push(isShared ?? false));
  // Some sizes times 1.5 and 0.75 are whole numbers, and of 5 columns the first 3 are taken.
  const counts = [
    [2, 16, 24],
    [3, 27, 15],
    [5, 31, 5],
    [4, 38, 42],
    [7, 50, 34],
  ].map((sizes) => {
    const x = randn([sizes[0]!, 1, sizes[1]!, sizes[2]!]);
    expect(run(x).sub(resizing.call(x).y!).abs().max().item()).toBeLessThan(1e-5);
    return made.filter((isShared) => !isShared).length;
  });
  stop();
  expect(counts.at(-1)).toBe(counts[2]);
  expect(explain(run)(randn([3, 1, 13, 7])).graphCount).toBe(2);
});

it('maps each element of a sequence to several outputs', async () => {
  const body = graph({
    inputs: [value('a', [2])],
    outputs: [value('twice', [2]), value('squared', [2])],
    nodes: [
      { op: 'Add', in: ['a', 'a'], out: ['twice'] },
      { op: 'Mul', in: ['a', 'a'], out: ['squared'] },
    ],
  });
  const bytes = model({
    inputs: [value('x', [2]), value('y', [2])],
    outputs: [value('sums', [2]), value('last', [2])],
    nodes: [
      { op: 'SequenceConstruct', in: ['x', 'y'], out: ['s'] },
      { op: 'SequenceMap', in: ['s'], out: ['t', 'q'], attributes: { body } },
      { op: 'ConcatFromSequence', in: ['t'], out: ['sums'], attributes: { axis: 0 } },
      { op: 'ConcatFromSequence', in: ['q'], out: ['last'], attributes: { axis: 0 } },
    ],
  });
  const { sums, last } = (await importOnnx(bytes)).call(tensor([1, 2]), tensor([3, 4]));
  expect(sums!.toArray()).toEqual([2, 4, 6, 8]);
  expect(last!.toArray()).toEqual([1, 4, 9, 16]);
});
