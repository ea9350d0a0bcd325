/**
 * @file Operators on tensors without elements: compiled results equal those of the reference kernels.
 */
import { describe, expect, it } from 'vitest';
import { functional as F } from '@tessera/nn';
import { type Tensor, grad, ones, randn, stdMean, varMean, zeros } from '@tessera/tensor';
import { compile, config } from '../src/index.js';

type Program = (x: Tensor) => Tensor | readonly Tensor[];

const PROGRAMS: readonly [name: string, program: Program][] = [
  ['group norm', (x) => F.groupNorm(x, 2, { weight: ones([4]), bias: ones([4]) })],
  [
    'gradients of group norm',
    (x) => {
      const weight = ones([x.shape[1]!]).requiresGrad_();
      return grad(F.groupNorm(x, 2, { weight }).sum(), [weight]);
    },
  ],
  ['variance and mean', (x) => varMean(x, -1)],
  ['deviation and mean', (x) => stdMean(x, -1)],
];

describe.each([[[2, 4, 0]], [[0, 4, 3]], [[2, 4, 0, 3]], [[2, 4, 3, 0]]])(
  'of shape %j',
  (shape) => {
    it.each(PROGRAMS)('%s', (_, program) => {
      const x = zeros(shape);
      const values = (run: Program): unknown[] =>
        [run(x)].flat().map((y) => [(y as Tensor).shape, (y as Tensor).toArray()]);
      const wanted = config.patch({ 'eager.kernels': 'reference' }, () => values(program));
      expect(values(compile(program))).toEqual(wanted);
      expect(values(program)).toEqual(wanted);
    });
  },
);

it.each<[string, Program]>([
  ['adaptiveMaxPool1d', (x) => F.adaptiveMaxPool1d(x, 0)],
  ['adaptiveMaxPool2d', (x) => F.adaptiveMaxPool2d(x, [0, 2])],
  ['adaptiveMaxPool3d', (x) => F.adaptiveMaxPool3d(x.unsqueeze(0), [2, 3, 0])],
  ['adaptiveAvgPool1d', (x) => F.adaptiveAvgPool1d(x, 0)],
  ['adaptiveAvgPool2d', (x) => F.adaptiveAvgPool2d(x, [3, 0])],
  ['adaptiveAvgPool3d', (x) => F.adaptiveAvgPool3d(x.unsqueeze(0), [2, 3, 0])],
])('%s into no windows', (_, program) => {
  const run = (fn: Program): unknown => {
    const x = ones([3, 4, 5]).requiresGrad_();
    const y = fn(x) as Tensor;
    y.sum().backward();
    return [y.shape, y.toArray(), x.grad!.toArray()];
  };
  const wanted = config.patch({ 'eager.kernels': 'reference' }, () => run(program));
  expect(run(program)).toEqual(wanted);
  expect(run(compile(program))).toEqual(wanted);
});

it.each<[string, Program]>([
  ['randn', () => randn([3, -3])],
  ['adaptiveMaxPool1d', () => F.adaptiveMaxPool1d(ones([3, 4, 4]), -1)],
  ['adaptiveAvgPool2d', () => F.adaptiveAvgPool2d(ones([3, 4, 4]), [-1, 2])],
])('%s of a negative size is the same error, compiled', (_, program) => {
  const refused = /Trying to create tensor with negative dimension -/;
  expect(() => program(ones([1]))).toThrow(refused);
  expect(() => compile(program)(ones([1]))).toThrow(refused);
});
