/**
 * @file Random operators with and without lowerings in one compiled graph: the numbers are eager's.
 */
import {
  type Tensor,
  binomial,
  getRngState,
  full,
  manualSeed,
  ones,
  poisson,
  rand,
  randperm,
  standardGamma,
} from '@tessera/tensor';
import { expect, it } from 'vitest';
import { compile } from '../src/index.js';

/** Calls of a function on one seed, and how far the generator went. */
function observe(fn: (x: Tensor) => Tensor[], x: Tensor): unknown {
  manualSeed(11);
  const results = [...fn(x), ...fn(x)].map((y) => Array.from(y.toTypedArray(), Number));
  return [results, getRngState().offset];
}

function expectClose(actual: unknown, expected: unknown): void {
  const [[a, aOffset], [e, eOffset]] = [actual, expected] as [number[][], number][];
  expect(aOffset).toBe(eOffset);
  e.forEach((row, i) =>
    row.forEach((value, k) =>
      expect(Math.abs(a[i]![k]! - value)).toBeLessThanOrEqual(1e-5 + 1e-5 * Math.abs(value)),
    ),
  );
}

it('draws by reference kernels take their turn among those of generated code', () => {
  const fn = (x: Tensor): Tensor[] => [
    rand([5]).add(x),
    standardGamma(x.abs().add(0.5)),
    rand([5]).mul(x),
    poisson(x.mul(20)),
    x.clone().exponential_(2),
    binomial(x.mul(10).floor(), rand([5])),
    x.clone().logNormal_(0, 1),
    x.clone().geometric_(0.3),
    x.clone().cauchy_(),
    randperm(5).add(1),
    rand([5]).sub(x),
  ];
  const x = full([5], 1.5);
  expectClose(observe(compile(fn, { fullgraph: true }), x), observe(fn, x));
});

it('gradients of gamma samples are those of the samples that were drawn', () => {
  const fn = (alpha: Tensor): Tensor =>
    standardGamma(alpha.mul(2))
      .mul(rand([4]))
      .sum();
  const gradient = (run: typeof fn): unknown => {
    manualSeed(5);
    const alpha = ones([4]).requiresGrad_();
    run(alpha).backward();
    run(alpha).backward();
    return [[alpha.grad!.toArray()], getRngState().offset];
  };
  expectClose(gradient(compile(fn, { fullgraph: true })), gradient(fn));
});
