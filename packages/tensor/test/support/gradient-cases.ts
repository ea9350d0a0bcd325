/**
 * @file Calls whose derivatives are checked against finite differences.
 */
import {
  type Tensor,
  addmm,
  baddbmm,
  cat,
  embedding,
  fromTypedArray,
  index,
  linear,
  matmul,
  oneHot,
  pad,
  stack,
  tensor,
  where,
} from '../../src/index.js';
import {
  adaptiveAvgPool2d,
  avgPool2d,
  batchNorm,
  binaryCrossEntropyWithLogits,
  conv2d,
  convTranspose2d,
  crossEntropy,
  groupNorm,
  layerNorm,
  maxPool2d,
  mseLoss,
  rmsNorm,
  rsub,
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

const positive = (...sizes: number[]): Tensor =>
  values(...sizes)
    .abs()
    .add(0.3);
const labels = (...data: number[]): Tensor => tensor(data, { dtype: 'int64' });

const unaries = [
  'exp',
  'exp2',
  'expm1',
  'sin',
  'cos',
  'tan',
  'atan',
  'tanh',
  'sigmoid',
  'erf',
  'erfc',
  'square',
  'abs',
  'neg',
  'relu',
  'silu',
  'gelu',
  'softplus',
  'elu',
  'mish',
  'selu',
  'leakyRelu',
  'hardswish',
  'hardsigmoid',
  'hardtanh',
  'logSigmoid',
  'reciprocal',
] as const;
const positives = ['log', 'log2', 'log10', 'log1p', 'sqrt', 'rsqrt'] as const;

/** Name, function, inputs. */
export const cases: [name: string, fn: Differentiable, inputs: Tensor[]][] = [
  ...unaries.map((name): [string, Differentiable, Tensor[]] => [
    name,
    (x) => x![name](),
    [values(2, 3)],
  ]),
  ...positives.map((name): [string, Differentiable, Tensor[]] => [
    name,
    (x) => x![name](),
    [positive(2, 3)],
  ]),
  ['gelu (tanh)', (x) => x!.gelu({ approximate: 'tanh' }), [values(6)]],
  ['add with alpha, broadcasting', (a, b) => a!.add(b!, { alpha: 3 }), [values(2, 3), values(3)]],
  ['sub from a number', (a) => rsub(a!, 2), [values(3)]],
  ['mul, broadcasting', (a, b) => a!.mul(b!), [values(2, 1, 3), values(2, 1)]],
  ['div', (a, b) => a!.div(b!), [values(2, 3), positive(3)]],
  ['pow with a number', (a) => a!.pow(3), [values(4)]],
  ['pow with a tensor', (a, b) => a!.pow(b!), [positive(2, 3), values(3)]],
  [
    'maximum and minimum',
    (a, b) => a!.maximum(b!).add(a!.minimum(b!).mul(2)),
    [values(4), values(4).flip(0)],
  ],
  ['clamp', (a) => a!.clamp(-0.5, 0.5), [values(7)]],
  ['where', (a, b) => where(a!.gt(0), a!.mul(b!), b!), [values(6), values(6).flip(0)]],
  ['lerp', (a, b, w) => a!.lerp(b!, w!), [values(4), values(4).flip(0), positive(4)]],
  [
    'addcmul and addcdiv',
    (a, b, c) => a!.addcmul(b!, c!, { value: 2 }).addcdiv(b!, c!),
    [values(3), values(3).flip(0), positive(3)],
  ],
  ['maskedFill', (a) => a!.maskedFill(tensor([true, false, true]), 9), [values(2, 3)]],
  ['sum and mean over dims', (a) => [a!.sum([0, 2]), a!.mul(a!).mean(1)], [values(2, 3, 2)]],
  ['amax', (a) => a!.mul(a!).amax(1), [values(3, 4)]],
  ['max along a dim', (a) => a!.mul(a!).max(1)[0], [values(3, 4)]],
  ['prod', (a) => a!.prod(1), [values(2, 3)]],
  ['variance and std', (a) => [a!.variance(1), a!.std(0, { correction: 0 })], [values(3, 4)]],
  ['logsumexp', (a) => a!.logsumexp(1), [values(2, 4)]],
  ['norm', (a) => [a!.norm(), a!.norm(3, 1)], [values(2, 3)]],
  ['cumsum', (a) => a!.mul(a!).cumsum(1), [values(2, 4)]],
  ['softmax', (a) => a!.softmax(1), [values(2, 4)]],
  ['logSoftmax', (a) => a!.logSoftmax(0), [values(3, 2)]],
  ['sort and topk', (a) => [a!.mul(a!).sort(1)[0], a!.topk(2, { dim: 1 })[0]], [values(2, 4)]],
  [
    'views',
    (a) =>
      a!
        .permute([2, 0, 1])
        .reshape([4, 3])
        .narrow(0, 1, 2)
        .unsqueeze(1)
        .squeeze(1)
        .mul(a!.select(1, 0).sum()),
    [values(3, 2, 2)],
  ],
  [
    'split, chunk and unbind',
    (a) => {
      const [x, y] = a!.split(2, 1);
      return [x!.mul(y!), ...a!.unbind(0), ...a!.mul(a!).chunk(2, 0)];
    },
    [values(2, 4)],
  ],
  [
    'diagonal and asStrided',
    (a) => [a!.diagonal().mul(2), a!.mul(a!).asStrided([2, 2], [1, 1], 1)],
    [values(3, 3)],
  ],
  [
    'sliceScatter and selectScatter',
    (a, b) => a!.mul(a!).sliceScatter(b!.mul(b!), 0, 1, 2).selectScatter(b!.select(0, 0), 0, 0),
    [values(3, 2), values(1, 2)],
  ],
  [
    'cat and stack',
    (a, b) => cat([a!.mul(b!), stack([a!.select(0, 0), b!.select(0, 1)])], 1),
    [values(2, 3), values(2, 3).flip(1)],
  ],
  [
    'gather and scatterAdd',
    (a) => [
      a!.mul(a!).gather(
        1,
        tensor(
          [
            [0, 0],
            [2, 1],
          ],
          { dtype: 'int64' },
        ),
      ),
      a!.scatterAdd(
        1,
        tensor(
          [
            [0, 0],
            [2, 1],
          ],
          { dtype: 'int64' },
        ),
        a!.narrow(1, 0, 2).mul(3),
      ),
    ],
    [values(2, 3)],
  ],
  [
    'index and indexPut',
    (a, b) => [index(a!.mul(a!), [labels(0, 2, 0)]), a!.indexPut([labels(1)], b!.mul(b!))],
    [values(3, 2), values(1, 2)],
  ],
  [
    'indexSelect and embedding',
    (a) => [
      a!.mul(a!).indexSelect(0, labels(1, 1)),
      embedding(
        a!.mul(a!),
        tensor(
          [
            [0, 2],
            [1, 1],
          ],
          { dtype: 'int64' },
        ),
      ),
    ],
    [values(3, 2)],
  ],
  ['tril and triu', (a) => a!.tril().mul(a!.triu(1).sum()), [values(3, 3)]],
  ['pad', (a) => pad(a!.mul(a!), [1, -1, 0, 2], { value: 7 }), [values(3, 3)]],
  [
    'mm, addmm',
    (a, b, c) => addmm(c!, a!, b!, { alpha: 2, beta: 3 }),
    [values(2, 3), values(3, 2), values(2)],
  ],
  [
    'baddbmm',
    (a, b, c) => baddbmm(c!, a!, b!),
    [values(2, 2, 3), values(2, 3, 2), values(2, 2, 2)],
  ],
  ['matmul, batches broadcast', (a, b) => matmul(a!, b!), [values(2, 1, 2, 3), values(2, 3, 2)]],
  ['mv and dot', (a, b) => [a!.mv(b!), b!.dot(b!)], [values(2, 3), values(3)]],
  ['linear', (x, w, b) => linear(x!, w!, b!), [values(2, 2, 3), values(2, 3), values(2)]],
  [
    'conv2d',
    (x, w, b) => conv2d(x!, w!, { bias: b!, stride: 2, padding: 1 }),
    [values(1, 2, 4, 4), values(3, 2, 3, 3), values(3)],
  ],
  [
    'conv2d, groups and dilation',
    (x, w) => conv2d(x!, w!, { groups: 2, dilation: 2 }),
    [values(1, 2, 4, 4), values(2, 1, 2, 2)],
  ],
  [
    'convTranspose2d',
    (x, w) => convTranspose2d(x!, w!, { stride: 2, outputPadding: 1 }),
    [values(1, 2, 2, 2), values(2, 1, 2, 2)],
  ],
  ['maxPool2d', (x) => maxPool2d(x!.mul(x!), 2, { stride: 1 }), [values(1, 1, 3, 3)]],
  ['avgPool2d', (x) => avgPool2d(x!.mul(x!), 2, { padding: 1 }), [values(1, 1, 3, 3)]],
  ['adaptiveAvgPool2d', (x) => adaptiveAvgPool2d(x!.mul(x!), [2, 3]), [values(1, 1, 3, 4)]],
  [
    'layerNorm',
    (x, w, b) => layerNorm(x!, [4], { weight: w!, bias: b! }),
    [values(2, 4), values(4), values(4).flip(0)],
  ],
  ['rmsNorm', (x, w) => rmsNorm(x!, [4], { weight: w! }), [values(2, 4), values(4)]],
  [
    'batchNorm, training',
    (x, w, b) => batchNorm(x!, { weight: w!, bias: b!, training: true }),
    [values(3, 2, 2), values(2), values(2).flip(0)],
  ],
  [
    'batchNorm, evaluation',
    (x, w) =>
      batchNorm(x!, {
        weight: w!,
        runningMean: tensor([0.1, 0.2], { dtype: 'float64' }),
        runningVar: tensor([1, 2], { dtype: 'float64' }),
      }),
    [values(3, 2, 2), values(2)],
  ],
  ['groupNorm', (x, w) => groupNorm(x!, 2, { weight: w! }), [values(2, 4, 2), values(4)]],
  [
    'crossEntropy',
    (x) => crossEntropy(x!, labels(1, 0, 2), { labelSmoothing: 0.1 }),
    [values(3, 3)],
  ],
  [
    'crossEntropy of probabilities',
    (x) => crossEntropy(x!, oneHot(labels(1, 0), 3).to('float64')),
    [values(2, 3)],
  ],
  ['mseLoss', (x, y) => mseLoss(x!, y!), [values(2, 3), values(2, 3).flip(0)]],
  [
    'binaryCrossEntropyWithLogits',
    (x) => binaryCrossEntropyWithLogits(x!, tensor([1, 0, 1], { dtype: 'float64' })),
    [values(3)],
  ],
];
