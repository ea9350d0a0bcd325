/**
 * @file Calls of attention, losses and spatial operators whose derivatives are checked.
 */
import { type Tensor, fromTypedArray, tensor } from '../../src/index.js';
import {
  adaptiveMaxPool1d,
  adaptiveMaxPool2d,
  adaptiveMaxPool3d,
  col2im,
  cosineEmbeddingLoss,
  hingeEmbeddingLoss,
  gridSample,
  im2col,
  instanceNorm,
  klDiv,
  marginRankingLoss,
  multiMarginLoss,
  multilabelMarginLoss,
  poissonNllLoss,
  reflectionPad,
  replicationPad,
  scaledDotProductAttention,
  softMarginLoss,
  tripletMarginLoss,
  upsample,
} from '../../src/internal.js';
import type { Differentiable } from './gradient-check.js';

/** Distinct values away from 0 and from integers, so that kinks are not near. */
function values(...sizes: number[]): Tensor {
  const count = sizes.reduce((a, b) => a * b, 1);
  return fromTypedArray(
    Float64Array.from(
      { length: count },
      (_, i) => (((i * 7919) % 97) / 97 - 0.45) * 2.6 + 0.013 * i,
    ),
    sizes,
  );
}

const signs = tensor([1, -1, 1], { dtype: 'float64' });

/** Name, function, inputs. */
export const spatialCases: readonly (readonly [string, Differentiable, readonly Tensor[]])[] = [
  [
    'attention',
    (q, k, v) => scaledDotProductAttention(q!, k!, v!),
    [values(1, 2, 2, 2), values(1, 2, 3, 2), values(1, 2, 3, 2).flip(2)],
  ],
  [
    'causal attention with shared heads',
    (q, k, v) => scaledDotProductAttention(q!, k!, v!, { isCausal: true, enableGqa: true }),
    [values(1, 2, 2, 2), values(1, 1, 2, 2), values(1, 1, 2, 2).flip(3)],
  ],
  [
    'attention that keeps its scores, with a mask',
    (q, k, v, mask) => scaledDotProductAttention(q!, k!, v!, { attnMask: mask! }),
    [values(2, 2, 2), values(2, 3, 2), values(2, 3, 2).flip(2), values(2, 3)],
  ],
  [
    'cosineEmbeddingLoss',
    (a, b) => cosineEmbeddingLoss(a!, b!, signs, { margin: -0.9, reduction: 'sum' }),
    [values(3, 4), values(3, 4).flip(1)],
  ],
  ['hingeEmbeddingLoss', (x) => hingeEmbeddingLoss(x!, signs, { reduction: 'none' }), [values(3)]],
  [
    'marginRankingLoss',
    (a, b) => marginRankingLoss(a!, b!, signs, { margin: 0.2 }),
    [values(3), values(3).flip(0)],
  ],
  ['softMarginLoss', (x) => softMarginLoss(x!, signs), [values(3)]],
  [
    'tripletMarginLoss',
    (a, b, c) => tripletMarginLoss(a!, b!, c!, { swap: true, p: 3 }),
    [values(2, 3), values(2, 3).flip(1), values(2, 3).flip(0)],
  ],
  [
    'klDiv and poissonNllLoss',
    (x, y) => [klDiv(x!, y!.exp()), klDiv(x!, y!, { logTarget: true }), poissonNllLoss(x!, y!)],
    [values(2, 3), values(2, 3).flip(0)],
  ],
  [
    'multiMarginLoss',
    (x) =>
      multiMarginLoss(x!, tensor([2, 0], { dtype: 'int64' }), {
        p: 2,
        weight: tensor([1, 2, 3], { dtype: 'float64' }),
      }),
    [values(2, 3)],
  ],
  [
    'multilabelMarginLoss',
    (x) =>
      multilabelMarginLoss(
        x!,
        tensor(
          [
            [2, 0, -1],
            [1, -1, 2],
          ],
          { dtype: 'int64' },
        ),
      ),
    [values(2, 3)],
  ],
  [
    'instanceNorm',
    (x, w, b) => instanceNorm(x!, { weight: w!, bias: b! }),
    [values(2, 2, 3), values(2), values(2).flip(0)],
  ],
  [
    'reflectionPad and replicationPad',
    (x) => [reflectionPad(x!.mul(x!), [2, 1, 1, -1]), replicationPad(x!.mul(x!), [3, -1])],
    [values(1, 2, 3)],
  ],
  ...(['nearest', 'nearest-exact', 'linear', 'bicubic'] as const).map(
    (mode) =>
      [
        `upsample, ${mode}`,
        (x: Tensor): Tensor[] => [
          upsample(x.mul(x), { mode, scaleFactors: [1.7, 0.7] }),
          upsample(x, { mode, outputSize: [3, 5], alignCorners: true }),
        ],
        [values(1, 1, 2, 3)],
      ] as const,
  ),
  [
    'upsample, linear in one and three dimensions, antialiased in two',
    (x) => [
      upsample(x!.mul(x!), { mode: 'linear', outputSize: [5] }),
      upsample(x!.unsqueeze(0).unsqueeze(0), { mode: 'linear', outputSize: [3, 1, 2] }),
      upsample(x!.unsqueeze(0), { mode: 'linear', outputSize: [1, 2], antialias: true }),
    ],
    [values(2, 1, 3)],
  ],
  [
    'adaptiveMaxPool',
    (x) => [
      adaptiveMaxPool1d(x!.select(0, 0), 2)[0],
      adaptiveMaxPool2d(x!.mul(x!), [2, 3])[0],
      adaptiveMaxPool3d(x!.unsqueeze(0), [1, 2, 3])[0],
    ],
    [values(2, 3, 4)],
  ],
  [
    'im2col and col2im',
    (x) => {
      const options = { padding: 1, stride: [2, 1], dilation: [1, 2] };
      const columns = im2col(x!.mul(x!), [2, 2], options);
      return [columns, col2im(columns.mul(columns), [3, 4], [2, 2], options)];
    },
    [values(1, 2, 3, 4)],
  ],
];

/** The same, of operators whose gradient has no gradient. */
export const firstOrderCases: typeof spatialCases = (
  ['bilinear', 'nearest', 'bicubic'] as const
).flatMap((mode) =>
  (['zeros', 'border', 'reflection'] as const).flatMap((paddingMode) =>
    [true, false].map(
      (alignCorners) =>
        [
          `gridSample, ${mode}, ${paddingMode}, ${alignCorners ? 'corners' : 'edges'} at 1`,
          (x: Tensor, grid: Tensor, volume: Tensor, points: Tensor): Tensor[] => [
            gridSample(x, grid, { mode, paddingMode, alignCorners }),
            ...(mode === 'bicubic'
              ? []
              : [gridSample(volume, points, { mode, paddingMode, alignCorners })]),
          ],
          [values(1, 2, 3, 4), values(1, 2, 3, 2), values(1, 1, 2, 3, 2), values(1, 1, 2, 2, 3)],
        ] as const,
    ),
  ),
);
