/**
 * @file Attention, padding, resizing, sampling and windows: compiled results and gradients equal eager ones.
 */
import { describe, expect, it } from 'vitest';
import {
  type Tensor,
  fromTypedArray,
  grad,
  readNumbers,
  scaledDotProductAttention,
  tensor,
} from '@tessera/tensor';
import { compile, config } from '../src/index.js';

/** Repeatable values in [-1, 1]. */
function waves(...sizes: number[]): Tensor {
  const numel = sizes.reduce((a, b) => a * b, 1);
  return fromTypedArray(
    Float32Array.from({ length: numel }, (_, i) => Math.sin(i * 12.9898 + 0.3 * numel)),
    sizes,
    { requiresGrad: true },
  );
}

type Case = readonly [name: string, fn: (...inputs: Tensor[]) => Tensor, inputs: readonly Tensor[]];

const CASES: readonly Case[] = [
  [
    'attention',
    (q, k, v) => scaledDotProductAttention(q!, k!, v!),
    [waves(2, 3, 5, 8), waves(2, 3, 7, 8), waves(2, 3, 7, 8)],
  ],
  [
    'causal attention with a scale',
    (q, k, v) => scaledDotProductAttention(q!, k!, v!, { isCausal: true, scale: 0.3 }),
    [waves(2, 2, 6, 4), waves(2, 2, 6, 4), waves(2, 2, 6, 4)],
  ],
  [
    'attention with heads shared by several query heads',
    (q, k, v) => scaledDotProductAttention(q!, k!, v!, { enableGqa: true }),
    [waves(2, 4, 5, 4), waves(2, 2, 3, 4), waves(2, 2, 3, 4)],
  ],
  [
    'attention under a mask that hides a row',
    (q, k, v) =>
      scaledDotProductAttention(q!, k!, v!, {
        attnMask: tensor([
          [true, false, true],
          [false, false, false],
        ]),
      }),
    [waves(1, 2, 2, 4), waves(1, 2, 3, 4), waves(1, 2, 3, 4)],
  ],
  [
    'attention with an additive mask that wants a gradient',
    (q, k, v, mask) => scaledDotProductAttention(q!, k!, v!, { attnMask: mask! }),
    [waves(1, 2, 3, 4), waves(1, 2, 5, 4), waves(1, 2, 5, 4), waves(3, 5)],
  ],
];

/** Result and gradients of a weighted sum of it. */
function evaluate(fn: Case[1], inputs: readonly Tensor[]): Tensor[] {
  const out = fn(...inputs);
  const weights = fromTypedArray(
    Float32Array.from({ length: out.numel }, (_, i) => Math.cos(1 + 1.7 * i)),
    out.sizes,
  );
  return [out, ...grad(out.mul(weights).sum(), inputs).map((g) => g!)];
}

describe('compiled on cpu as in eager', () => {
  it.each(CASES)('%s', (_name, fn, inputs) => {
    const expected = config.patch({ 'eager.kernels': 'reference' }, () => evaluate(fn, inputs));
    const actual = evaluate(compile(fn), inputs);
    actual.forEach((result, at) => {
      expect(result.sizes).toEqual(expected[at]!.sizes);
      const want = readNumbers(expected[at]!);
      readNumbers(result).forEach((value, i) => {
        const error = Math.abs(value - want[i]!);
        if (!(error <= 2e-5 + 2e-5 * Math.abs(want[i]!)))
          expect.fail(`result ${at}, element ${i}: ${value}, expected ${want[i]}`);
      });
    });
  });
});
