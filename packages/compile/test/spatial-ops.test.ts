/**
 * @file Attention, padding, resizing, sampling and windows: compiled results and gradients equal eager ones.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, fromTypedArray, grad, tensor } from '@tessera/tensor';
import {
  adaptiveMaxPool2d,
  col2im,
  im2col,
  readNumbers,
  reflectionPad,
  replicationPad,
  scaledDotProductAttention,
  upsample,
} from '@tessera/tensor/internal';
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
  ['reflectionPad', (x) => reflectionPad(x!, [2, 1, -1, 2]), [waves(1, 2, 3, 4)]],
  ['reflectionPad of volumes', (x) => reflectionPad(x!, [1, 1, 0, 1, 2, 1]), [waves(1, 3, 2, 3)]],
  ['replicationPad', (x) => replicationPad(x!, [5, -1, 0, 2]), [waves(1, 2, 3, 4)]],
  ['adaptiveMaxPool2d', (x) => adaptiveMaxPool2d(x!, [2, 3])[0], [waves(2, 2, 5, 7)]],
  [
    'adaptiveMaxPool2d of large windows',
    (x) => adaptiveMaxPool2d(x!, [2, 2])[0],
    [waves(1, 2, 13, 11)],
  ],
  [
    'im2col',
    (x) => im2col(x!, [2, 3], { padding: 1, stride: [2, 1], dilation: [1, 2] }),
    [waves(2, 2, 5, 6)],
  ],
  [
    'col2im',
    (x) => col2im(x!, [5, 6], [2, 3], { padding: 1, stride: [2, 1], dilation: [1, 2] }),
    [waves(2, 12, 12)],
  ],
  ...(['nearest', 'nearest-exact', 'linear', 'bicubic'] as const).flatMap((mode) =>
    [true, false].map((alignCorners): Case => [
      `upsample, ${mode}, ${alignCorners ? 'corners' : 'edges'} aligned`,
      (x) =>
        upsample(upsample(x!, { mode, scaleFactors: [2, 1.7], alignCorners }), {
          mode,
          outputSize: [3, 2],
          alignCorners,
        }),
      [waves(1, 2, 4, 5)],
    ]),
  ),
  [
    'upsample of volumes',
    (x) => upsample(x!, { mode: 'linear', outputSize: [3, 2, 5] }),
    [waves(1, 2, 2, 3, 4)],
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
