/**
 * @file Whole programs: backward inside and outside, random numbers, normalisation, a training step.
 */
import { functional as F } from '@tessera/nn';
import { type Tensor, grad, noGrad, rand, randn } from '@tessera/tensor';
import { type ConformanceCase, leaf, ramp, whole } from '../conformance-case.js';

const tolerance = { rtol: 1e-4, atol: 1e-4 };

function mlp(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor): Tensor {
  return F.gelu(x.matmul(w1).add(b1)).matmul(w2);
}

/** See the file header. */
export const PROGRAM_CASES: readonly ConformanceCase[] = [
  {
    name: 'backward: of a pointwise chain, outside',
    inputs: (call) => [leaf([3, 4], call), leaf([4], call)],
    run: (x, y) => x!.sin().mul(y!).add(x!.exp()).relu(),
    tolerance,
  },
  {
    name: 'backward: of reductions, outside',
    inputs: (call) => [leaf([3, 4], call)],
    run: (x) => [x!.softmax(-1).amax(1), x!.mean(), x!.square().sum(0)],
    tolerance,
  },
  {
    name: 'backward: of a product with its epilogue, outside',
    inputs: (call) => [ramp([5, 6], call), leaf([6, 8], call), leaf([8], call), leaf([8, 3], call)],
    run: (x, w1, b1, w2) => mlp(x!, w1!, b1!, w2!),
    tolerance,
  },
  {
    name: 'backward: of a convolution, outside',
    inputs: (call) => [leaf([1, 2, 6, 6], call), leaf([3, 2, 3, 3], call), leaf([3], call)],
    run: (x, w, b) => F.conv2d(x!, w!, { bias: b!, padding: 1 }).relu(),
    tolerance,
  },
  {
    name: 'backward: of gathers and an embedding, outside',
    inputs: (call) => [leaf([6, 4], call), whole([5], 6, call)],
    run: (x, at) => F.embedding(at!, x!).mul(2).sum(1),
    tolerance,
  },
  {
    name: 'backward: of causal attention of many rows, outside',
    inputs: (call) => [0, 1, 2].map((i) => leaf([1, 2, 18, 4], call + i)),
    run: (q, k, v) => F.scaledDotProductAttention(q!, k!, v!, { isCausal: true }),
    tolerance,
  },
  {
    name: 'backward: inside, as results',
    inputs: (call) => [leaf([4, 3], call), whole([4], 3, call)],
    run: (x, y) => grad([F.crossEntropy(x!.mul(2), y!)], [x!]),
    tolerance,
  },
  {
    name: 'programs: layer norm, dropout off, cross entropy',
    inputs: (call) => [ramp([4, 6], call), ramp([6], call), whole([4], 6, call)],
    run: (x, w, y) => {
      const h = F.layerNorm(x!, [6], { weight: w!, bias: null, eps: 1e-5 });
      return [h, F.crossEntropy(h, y!)];
    },
    tolerance,
  },
  {
    name: 'programs: a training step that updates its parameters in place',
    inputs: (call) => [
      ramp([5, 6], call),
      leaf([6, 8], call),
      leaf([8], call),
      leaf([8, 3], call),
      whole([5], 3, call),
    ],
    run: (x, w1, b1, w2, y) => {
      const params = [w1!, b1!, w2!];
      const loss = F.crossEntropy(mlp(x!, w1!, b1!, w2!), y!);
      const grads = grad([loss], params);
      noGrad(() => params.forEach((p, i) => p.sub_(grads[i]!.mul(0.1))));
      return loss.detach();
    },
    tolerance,
  },
  {
    name: 'random: the numbers of eager, from the same seed',
    inputs: (call) => [ramp([3, 4], call)],
    run: (x) => [
      x!.add(rand([3, 4], { device: x!.device })),
      randn([5], { device: x!.device }).mul(2),
    ],
    tolerance,
  },
  {
    name: 'random: dropout, and the same mask in its backward',
    inputs: (call) => [leaf([8, 8], call)],
    run: (x) => F.dropout(x!.mul(2), { p: 0.4 }),
    tolerance,
  },
];
