/**
 * @file What PyTorch's database of modules (`torch.testing._internal.common_modules`) found: values and errors of 2.13.
 */
import { arange, ones, tensor } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import * as nn from '../src/index.js';
import { any, refusal } from './refusal.js';

const rows = ones([3, 10]);
const sequence = ones([2, 4, 3]);

describe('errors', () => {
  it.each<[string, () => unknown, string]>([
    [
      'a bias that is no boolean',
      () => new nn.GRU(3, 5, { bias: any(0) }),
      'GRU: bias should be of type boolean, got: number',
    ],
    [
      'batchFirst that is no boolean',
      () => new nn.LSTM(3, 5, { batchFirst: any(1) }),
      'LSTM: batchFirst should be of type boolean, got: number',
    ],
    [
      'a size that is text',
      () => new nn.RNN(any('10'), 5),
      'RNN: inputSize should be of type number, got: string',
    ],
    [
      'another one',
      () => new nn.RNN(10, any('5')),
      'RNN: hiddenSize should be of type number, got: string',
    ],
    [
      'a sequence of another dtype',
      () => new nn.GRU(3, 5).call(sequence.to('float64')),
      'RNN input dtype (float64) does not match weight dtype (float32). Convert input: input.to(float32), or convert model: model.to(float64)',
    ],
    [
      'a state of four dimensions',
      () => new nn.GRUCell(10, 20).call(rows, ones([3, 1, 1, 20])),
      'GRUCell: Expected hidden to be 1D or 2D, got 4D instead',
    ],
    [
      'states of four dimensions',
      () => new nn.LSTMCell(10, 20).call(rows, [ones([3, 1, 1, 20]), ones([3, 1, 1, 20])]),
      'LSTMCell: Expected hx[0] to be 1D or 2D, got 4D instead',
    ],
    [
      'too many dimensions of a circle',
      () => new nn.CircularPad1d(3).call(ones([2, 3, 4, 5])),
      'CircularPad1d: expected 2D or 3D input (got 4D input)',
    ],
    [
      'too few of a plane',
      () => new nn.CircularPad2d(3).call(ones([2, 3])),
      'CircularPad2d: expected 3D or 4D input (got 2D input)',
    ],
    [
      'too few of a volume',
      () => new nn.CircularPad3d(3).call(ones([2, 3])),
      'CircularPad3d: expected 4D or 5D input (got 2D input)',
    ],
    [
      'fewer classes than samples',
      () => new nn.NLLLoss().call(ones([2, 3]), tensor([0, 1, 2], { dtype: 'int64' })),
      'nll_loss: Expected input batch_size (2) to match target batch_size (3).',
    ],
    [
      'classes of other places',
      () =>
        new nn.CrossEntropyLoss().call(
          ones([2, 3, 5]),
          tensor([0, 1, 1, 0, 2, 2, 2, 2], { dtype: 'int64' }).reshape([2, 4]),
        ),
      'nll_loss: Expected target size [2, 5], got [2, 4]',
    ],
    [
      'places of fewer volumes than there are',
      () =>
        new nn.FractionalMaxPool3d(2, { outputSize: 2, randomSamples: ones([2, 2, 3]) }).call(
          ones([3, 2, 5, 5, 4]),
        ),
      'fractionalMaxPool3d: Expect _random_samples.size(0) no less then input batch size.',
    ],
    [
      'places of fewer channels',
      () =>
        new nn.FractionalMaxPool3d(2, { outputSize: 2, randomSamples: ones([1, 1, 3]) }).call(
          ones([1, 2, 5, 5, 4]),
        ),
      'fractionalMaxPool3d: Expect _random_samples.size(1) equals to input channel size.',
    ],
    [
      'places of planes',
      () =>
        new nn.FractionalMaxPool3d(2, { outputSize: 2, randomSamples: ones([1, 2, 2]) }).call(
          ones([1, 2, 5, 5, 4]),
        ),
      'fractionalMaxPool3d: Expect _random_samples.size(2) equals to 3; got 2.',
    ],
  ])('%s', (_name, call, expected) => {
    expect(refusal(call)).toBe(expected);
  });
});

it('places of more volumes than there are: the first are taken', () => {
  const input = arange(200).remainder(7).to('float32').reshape([2, 5, 5, 4]);
  const randomSamples = tensor([
    [
      [0.49625658988952637, 0.7682217955589294, 0.08847743272781372],
      [0.13203048706054688, 0.30742281675338745, 0.6340786814689636],
    ],
    [
      [0.4900934100151062, 0.8964447379112244, 0.455627977848053],
      [0.6323062777519226, 0.3488934636116028, 0.40171730518341064],
    ],
  ]);
  const pool = new nn.FractionalMaxPool3d(2, { outputSize: 2, randomSamples, returnIndices: true });
  const [output, indices] = pool.call(input);
  expect(output.flatten().toArray()).toEqual([6, 6, 6, 6, 5, 6, 6, 5, 6, 5, 6, 6, 6, 6, 5, 6]);
  expect(Array.from(indices.flatten().toTypedArray() as BigInt64Array, Number)).toEqual([
    20, 6, 13, 34, 61, 62, 76, 75, 4, 3, 32, 18, 60, 67, 73, 74,
  ]);
});

it('klDiv has no gradient where none comes, not even of targets without logarithm', () => {
  const input = tensor([0.1, 0.2]).requiresGrad_();
  const target = tensor([-2, 0.5]).requiresGrad_();
  const loss = nn.functional.klDiv(input, target, { reduction: 'none' });
  loss.backward(tensor([0, 1]));
  expect(loss.select(0, 0).item()).toBeNaN();
  expect(input.grad!.toArray()).toEqual([0, -0.5]);
  expect(target.grad!.select(0, 0).item()).toBe(0);
  expect(target.grad!.select(0, 1).item()).toBeCloseTo(0.1069, 4);
});
