/**
 * @file What module options change beyond recorded numbers: errors, shapes, random parts.
 */
import { describe, expect, it } from 'vitest';
import { type ErrorCode, isTesseraError } from '@tessera/shared';
import { type Tensor, manualSeed, ones, randn, tensor } from '@tessera/tensor';
import {
  AlphaDropout,
  ConvTranspose2d,
  Dropout1d,
  Dropout2d,
  Dropout3d,
  Embedding,
  FeatureAlphaDropout,
  GRU,
  InstanceNorm2d,
  LSTM,
  LSTMCell,
  MaxPool2d,
  MultiheadAttention,
  RNN,
  RReLU,
  Sequential,
  Softmax2d,
  Transformer,
  TransformerEncoder,
  TransformerEncoderLayer,
  TripletMarginWithDistanceLoss,
  functional as F,
} from '../src/index.js';
import { thrownBy } from './thrown-by.js';

function expectError(fn: () => unknown, code: ErrorCode, message: string): void {
  const error = thrownBy(fn);
  expect(isTesseraError(error, code), error.message).toBe(true);
  expect(error.message).toContain(message);
}

describe('recurrent networks', () => {
  it('say what does not fit', () => {
    const lstm = new LSTM(3, 4);
    expectError(
      () => lstm.call(ones([2])),
      'shape-mismatch',
      'Expected input to be 2D or 3D, got 1D',
    );
    expectError(
      () => lstm.call(ones([2, 1, 5])),
      'shape-mismatch',
      'input.size(-1) must be equal to input_size. Expected 3, got 5',
    );
    expectError(
      () => new GRU(3, 4).call(ones([2, 1, 3]), ones([1, 2, 4])),
      'shape-mismatch',
      'Expected hidden size [1, 1, 4], got [1, 2, 4]',
    );
    expectError(
      () => lstm.call(ones([2, 3]), [ones([1, 1, 4]), ones([1, 4])]),
      'shape-mismatch',
      'For unbatched 2-D input, hx should also be 2-D but got 3-D tensor',
    );
    expectError(() => new RNN(3, 4, { dropout: 2 }), 'invalid-argument', 'range [0, 1]');
    expectError(() => new LSTM(3, 4, { projSize: 4 }), 'invalid-argument', 'projSize');
    expectError(() => new LSTMCell(3, 4).call(ones([2, 2, 3])), 'shape-mismatch', '1D or 2D');
  });

  it('drop outputs between layers in training, and flattenParameters changes nothing', () => {
    manualSeed(0);
    const gru = new GRU(3, 4, { numLayers: 2, dropout: 0.5 });
    gru.flattenParameters();
    const x = randn([3, 2, 3]);
    const run = (): unknown => gru.call(x)[0].toArray();
    expect(run()).not.toEqual(run());
    gru.eval();
    expect(run()).toEqual(run());
    const bound = Math.max(...gru.parameters().map((parameter) => parameter.abs().max().item()));
    expect(bound).toBeLessThanOrEqual(0.5);
  });
});

describe('attention', () => {
  it('says what does not fit', () => {
    const attention = new MultiheadAttention(4, 2);
    const x = ones([3, 2, 4]);
    expectError(() => new MultiheadAttention(4, 3), 'invalid-argument', 'divisible by numHeads');
    expectError(
      () => attention.call(x, x, x, { attnMask: ones([2, 2]) }),
      'shape-mismatch',
      'The shape of attnMask is [2, 2], but should be [3, 3] or [4, 3, 3]',
    );
    expectError(
      () => attention.call(x, x, x, { isCausal: true }),
      'invalid-argument',
      'Need attnMask if specifying the isCausal hint',
    );
    expectError(
      () => attention.call(x, x, x, { keyPaddingMask: ones([2, 3], { dtype: 'int64' }) }),
      'dtype-mismatch',
      'only bool and floating types of keyPaddingMask are supported',
    );
    expectError(
      () => new Transformer({ dModel: 4, nhead: 2 }).call(x, ones([3, 1, 4])),
      'shape-mismatch',
      'the batch number of src and tgt must be equal',
    );
  });

  it('a transformer starts with layers of their own, and masks what comes later', () => {
    manualSeed(0);
    const layer = new TransformerEncoderLayer(4, 2, { dimFeedforward: 8, dropout: 0 });
    const encoder = new TransformerEncoder(layer, 2);
    const [a, b] = [encoder.layers.at(0), encoder.layers.at(1)];
    expect(a.linear1.weight.toArray()).toEqual(b.linear1.weight.toArray());
    expect(a.linear1.weight.storage).not.toBe(b.linear1.weight.storage);
    const srcMask = Transformer.generateSquareSubsequentMask(3);
    expect(srcMask.toArray()).toEqual([
      [0, -Infinity, -Infinity],
      [0, 0, -Infinity],
      [0, 0, 0],
    ]);
    const x = randn([3, 1, 4]);
    const changed = x.clone();
    changed.select(0, 2).fill_(9);
    const first = (input: Tensor): unknown =>
      encoder.call(input, { srcMask, isCausal: true }).narrow(0, 0, 2).toArray();
    expect(first(changed)).toEqual(first(x));
  });
});

describe('the dropout family', () => {
  it('drops whole channels, and keeps the expectation', () => {
    manualSeed(0);
    for (const [module, sizes] of [
      [new Dropout1d(0.25), [40, 50, 3]],
      [new Dropout2d(0.25), [40, 50, 3, 2]],
      [new Dropout3d(0.25), [40, 50, 1, 3, 2]],
    ] as const) {
      const kept = module.call(ones(sizes)).reshape([2000, -1]);
      expect(kept.amax(1).sub(kept.amin(1)).abs().max().item()).toBe(0);
      expect(kept.mean().item()).toBeCloseTo(1, 1);
      expect(module.eval().call(ones(sizes)).sum().item()).toBe(ones(sizes).numel);
    }
  });

  it('alpha dropout keeps mean 0 and variance 1', () => {
    manualSeed(1);
    const x = randn([300, 300]);
    const y = new AlphaDropout(0.3).call(x);
    expect(y.mean().item()).toBeCloseTo(0, 1);
    expect(y.std().item()).toBeCloseTo(1, 1);
    const channels = new FeatureAlphaDropout(0.3).call(ones([30, 30, 5]));
    expect(channels.amax(2).sub(channels.amin(2)).abs().max().item()).toBe(0);
    expect(new AlphaDropout(1).call(x).abs().max().item()).toBe(0);
  });

  it('RReLU draws slopes in training', () => {
    manualSeed(2);
    const slopes = new RReLU(0.1, 0.3).call(ones([1000]).neg()).neg();
    expect(slopes.min().item()).toBeGreaterThanOrEqual(0.1);
    expect(slopes.max().item()).toBeLessThanOrEqual(0.3);
    expect(slopes.mean().item()).toBeCloseTo(0.2, 1);
  });
});

describe('other modules', () => {
  it('limit the norms of used rows in place', () => {
    const table = Embedding.fromPretrained(
      tensor([
        [3, 4],
        [6, 8],
        [0, 0.5],
      ]),
      { maxNorm: 1, freeze: false },
    );
    table.call(tensor([0, 2], { dtype: 'int64' }));
    const rows = table.weight.toArray() as number[][];
    expect(rows[0]![0]).toBeCloseTo(0.6, 5);
    expect(rows.slice(1)).toEqual([
      [6, 8],
      [0, 0.5],
    ]);
    expect(table.weight.requiresGrad).toBe(true);
  });

  it('chain pooling without indices, and give them when asked', () => {
    const x = tensor([
      [
        [
          [1, 3],
          [2, 0],
        ],
      ],
    ]);
    expect(new Sequential(new MaxPool2d(2)).call(x).toArray()).toEqual([[[[3]]]]);
    const [, indices] = new MaxPool2d(2, { returnIndices: true }).call(x);
    expect(indices.item()).toBe(1);
  });

  it('take any distance', () => {
    const loss = new TripletMarginWithDistanceLoss({
      distanceFunction: (a, b) => a.sub(b).abs().sum(-1),
      margin: 2,
    });
    expect(loss.call(tensor([[0, 0]]), tensor([[1, 1]]), tensor([[0, 3]])).item()).toBe(1);
  });

  it('say what does not fit', () => {
    expectError(() => new Softmax2d().call(ones([2])), 'shape-mismatch', '3D or 4D');
    expectError(
      () => new InstanceNorm2d(3, { affine: true }).call(ones([1, 2, 2, 2])),
      'shape-mismatch',
      'to match numFeatures (3)',
    );
    expectError(
      () => new ConvTranspose2d(1, 1, 3, { stride: 2 }).call(ones([1, 1, 3, 3]), [9, 7]),
      'shape-mismatch',
      'requested an output size of [9, 7], but valid sizes range from [7, 7] to [8, 8]',
    );
    expectError(() => F.interpolate(ones([1, 1, 2]), {}), 'invalid-argument', 'either size or');
    expectError(
      () => F.interpolate(ones([1, 1, 2]), { size: 2, scaleFactor: 2 }),
      'invalid-argument',
      'only one of',
    );
    expectError(
      () => F.interpolate(ones([1, 1, 2]), { size: 2, mode: 'bilinear' }),
      'invalid-argument',
      'got 3D input, but bilinear mode needs 4D',
    );
    expectError(
      () => F.interpolate(ones([1, 1, 2]), { size: 2, alignCorners: true }),
      'invalid-argument',
      'alignCorners',
    );
    const [indices, weight] = [tensor([0, 1], { dtype: 'int64' }), ones([2, 2])];
    expectError(() => F.embeddingBag(indices, weight), 'invalid-argument', 'with offsets');
    expectError(
      () => F.gaussianNllLoss(ones([2, 3]), ones([2, 3]), ones([3])),
      'shape-mismatch',
      'incorrect size',
    );
    expectError(() => F.featureDropout(ones([2])), 'shape-mismatch', 'at least 2 dimensions');
    expectError(() => F.ctcLoss(ones([2]), indices, [1], [1]), 'shape-mismatch', '2D or 3D');
  });
});
