/**
 * @file Forms of standard operators that the recorded tests of the onnx package do not have, beside onnxruntime, and
 * those of sequences by hand.
 */
import { tensor } from '@tessera/tensor';
import { expect, it } from 'vitest';
import { importOnnx } from '../src/index.js';
import { graph, model, value } from './support/build-model.js';
import { type Case, describeLikeOnnxruntime } from './support/like-onnxruntime.js';
import { given, noise } from './support/beside-onnxruntime.js';

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

describeLikeOnnxruntime({ 'identity matrices': diagonals, resizing: onePixel });

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
