/**
 * @file Over dims: sums, extremes, positions, moments, softmax, scans.
 */
import { cumsum, logsumexp, std, varMean } from '@tessera/tensor';
import { type ConformanceCase, ramp, whole } from '../conformance-case.js';

const cube = (call: number) => [ramp([3, 4, 5], call)];

/** See the file header. */
export const REDUCTION_CASES: readonly ConformanceCase[] = [
  {
    name: 'reductions: sums over all, one, several dims',
    inputs: cube,
    run: (x) => [x!.sum(), x!.sum(1), x!.sum([0, 2], { keepdim: true }), x!.mean(-1)],
  },
  {
    name: 'reductions: products, any, all',
    inputs: cube,
    run: (x) => [x!.prod(2), x!.gt(1.9).any(1), x!.gt(-3).all()],
  },
  {
    name: 'reductions: extremes and where they are',
    inputs: cube,
    run: (x) => [x!.amax(1), x!.amin([0, 1]), x!.argmax(2), x!.argmin(), ...x!.max(0)],
  },
  {
    name: 'reductions: variance and deviation',
    inputs: cube,
    run: (x) => [std(x!, 1), ...varMean(x!, [0, 2])],
  },
  {
    name: 'reductions: moments of infinite values',
    inputs: cube,
    run: (x) => {
      const infinite = x!.div(x!.gt(0).to(x!.dtype));
      return [0, 1, 2].flatMap((dim) => varMean(infinite, dim));
    },
  },
  {
    name: 'reductions: softmax, its logarithm and logsumexp',
    inputs: cube,
    run: (x) => [x!.softmax(-1), x!.mul(30).logSoftmax(1), logsumexp(x!, 0)],
  },
  {
    name: 'reductions: fused with what is before and after',
    inputs: cube,
    run: (x) => x!.mul(2).exp().sum(-1, { keepdim: true }).add(1).reciprocal().mul(x!),
  },
  {
    name: 'reductions: a long row',
    inputs: (call) => [ramp([2, 5000], call)],
    run: (x) => [x!.sum(1), x!.amax(1), x!.softmax(1)],
    tolerance: { rtol: 1e-4, atol: 1e-3 },
  },
  {
    name: 'reductions: integers and truth values',
    inputs: (call) => [whole([4, 6], 9, call), whole([4, 6], 2, call, 'bool')],
    run: (x, b) => [x!.sum(0), x!.amax(1), b!.sum(), b!.any(0), x!.argmax(1)],
  },
  {
    name: 'reductions: running sums',
    inputs: cube,
    run: (x) => [cumsum(x!, 1), cumsum(x!.mul(2), -1).add(1)],
  },
];
