/**
 * @file Operators on tensors without elements: compiled results equal those of the reference kernels.
 */
import { describe, expect, it } from 'vitest';
import { functional as F } from '@tessera/nn';
import { type Tensor, grad, ones, stdMean, varMean, zeros } from '@tessera/tensor';
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
