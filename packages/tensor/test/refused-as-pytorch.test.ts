/**
 * @file Calls that PyTorch refuses, with its reasons, and results whose type or value only PyTorch's kernels tell.
 *
 * Found by calling both with the samples of PyTorch's OpInfo, changed at random. Values are PyTorch 2.13's.
 */
import { TesseraError } from '@tessera/shared';
import { describe, expect, it } from 'vitest';
import * as api from '../src/index.js';
import * as internal from '../src/internal.js';
import { complex } from '../src/fft.js';
import { type DType, type Tensor, callOp, getOp, ones, tensor, zeros } from '../src/index.js';

const T = { ...api, ...internal };

function call(name: string, ...args: unknown[]): Tensor {
  return callOp(getOp(`aten::${name}`), args) as Tensor;
}
const typed = (dtype: DType, ...sizes: number[]): Tensor => ones(sizes).to(dtype);

describe('parameters of norms', () => {
  const NORMS: Readonly<Record<string, (x: Tensor, w: Tensor) => unknown>> = {
    layerNorm: (x, weight) => T.layerNorm(x, [4], { weight }),
    'layerNorm, bias': (x, bias) => T.layerNorm(x, [4], { bias }),
    groupNorm: (x, weight) => T.groupNorm(x, 2, { weight }),
    'batchNorm in training': (x, weight) => T.batchNorm(x, { weight, training: true }),
    'statistics of batchNorm': (x, w) => T.batchNorm(x, { runningMean: w, runningVar: w }),
    instanceNorm: (x, weight) => T.instanceNorm(x.reshape([1, 4, 2]), { weight }),
  };
  it.each(Object.entries(NORMS))(
    '%s takes those of its input, or float32 beside halves',
    (_, norm) => {
      const run = (x: DType, w: DType): unknown => norm(typed(x, 2, 4), typed(w, 4));
      for (const [x, w] of [
        ['float32', 'int64'],
        ['float32', 'float64'],
        ['float16', 'bfloat16'],
      ] as const)
        expect(() => run(x, w)).toThrow(
          'mixed dtype (CPU): expect parameter to have scalar type of float32',
        );
      expect(() => run('float64', 'float32')).toThrow(
        'mixed dtype (CPU): all inputs must share same datatype.',
      );
      expect(() => run('bfloat16', 'float32')).not.toThrow();
    },
  );

  it('are of one type', () => {
    const [x, weight] = [ones([2, 4]), ones([4])];
    expect(() => T.layerNorm(x, [4], { weight, bias: typed('float64', 4) })).toThrow(
      'expected scalar type float32 but found float64',
    );
  });

  it('leave their type to the statistics and to their own gradients', () => {
    const x = tensor([[1, 2, 3, 5]]).to('bfloat16');
    const weight = tensor([1, 2, 3, 4]);
    const results = [
      callOp(getOp('aten::native_layer_norm'), [x, [4], weight, null, 1e-5]),
      callOp(getOp('aten::native_group_norm'), [x, weight, null, 1, 4, 1, 1, 1e-5]),
      callOp(getOp('aten::native_batch_norm'), [x, weight, null, null, null, true, 0.1, 1e-5]),
    ] as Tensor[][];
    for (const result of results)
      expect(result.map((each) => each.dtype)).toEqual(['bfloat16', 'float32', 'float32']);
    const leaf = weight.requiresGrad_();
    T.layerNorm(x, [4], { weight: leaf }).sum().backward();
    // In bfloat16 it would be 1.5234.
    expect(leaf.grad!.select(0, 3).item()).toBeCloseTo(1.52127, 4);
    expect(leaf.grad!.dtype).toBe('float32');
  });

  it('of instanceNorm are converted where they are running statistics', () => {
    const [mean, variance] = [tensor([3], { dtype: 'int64' }), tensor([5], { dtype: 'float64' })];
    const x = tensor([[[1, 2, 6]]]);
    T.instanceNorm(x, { runningMean: mean, runningVar: variance, momentum: 0.5 });
    expect(mean.toArray()).toEqual([3]);
    expect(variance.toArray()).toEqual([6]);
  });
});

describe('what is refused', () => {
  it.each<[string, () => unknown, string]>([
    [
      'cross products of two types',
      () => T.cross(ones([3]), typed('int64', 3)),
      'expected scalar type float32 but found int64',
    ],
    [
      'cross products of bools',
      () => T.cross(typed('bool', 3), typed('bool', 3)),
      '"cross" not implemented for \'bool\'',
    ],
    [
      'soft margins of a larger target',
      () => T.softMarginLoss(ones([1]), ones([3])),
      "output with shape [1] doesn't match the broadcast shape [3]",
    ],
    [
      'soft margins of integers',
      () => T.softMarginLoss(typed('int64', 3), ones([3])),
      "result type float32 can't be cast to the desired output type int64",
    ],
    [
      'images of 16-bit integers',
      () => T.upsample(typed('int16', 1, 1, 2, 2), { outputSize: [3, 3], mode: 'linear' }),
      '"upsample_bilinear2d" not implemented for \'int16\'',
    ],
    [
      'lines of bytes',
      () => T.upsample(typed('uint8', 1, 1, 2), { outputSize: [3], mode: 'linear' }),
      '"upsample_linear1d" not implemented for \'uint8\'',
    ],
    [
      'adaptive means of integers',
      () => T.adaptiveAvgPool2d(typed('int64', 1, 4, 4), 2),
      '"adaptive_avg_pool2d" not implemented for \'int64\'',
    ],
    [
      'pooling of no channels',
      () => T.maxPool2d(ones([2, 0, 4, 4]), 1),
      'Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:[2, 0, 4, 4]',
    ],
    [
      'means over rows of nothing, without a batch',
      () => T.avgPool1d(ones([0, 10]), 1),
      'Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:[0, 1, 10]',
    ],
    [
      'pooling of empty volumes',
      () => T.maxPool3d(ones([0, 1, 2, 10]), 1),
      "Expected input's non-batch dimensions to have positive length, but input has a shape of [0, 1, 2, 10] and non-batch dimension 0 has length zero!",
    ],
    [
      'complex numbers with integers',
      () => complex(ones([2]), typed('int32', 2)),
      'Expected both inputs to be Half, Float or Double tensors but got float32 and int32',
    ],
    [
      'complex numbers of two types',
      () => complex(ones([2]), typed('float64', 2)),
      'Expected object of scalar type float32 but got scalar type float64 for second argument',
    ],
    [
      'no indices',
      () => call('index.Tensor', ones([3]), []),
      'at least one index must be provided',
    ],
    [
      'negative output padding',
      () => T.convTranspose1d(ones([1, 1, 3]), ones([1, 1, 3]), { outputPadding: -1 }),
      'negative output_padding is not supported',
    ],
    [
      'windows of one number',
      () => call('im2col', ones([1, 1, 4, 4]), [2], [1, 1], [0, 0], [1, 1]),
      'kernel_size must be 2 numbers',
    ],
    [
      'parts in three dimensions of two',
      () => call('_adaptive_avg_pool2d', ones([1, 1, 4, 4]), [2, 2, 2]),
      'output_size must be 2 numbers',
    ],
    [
      'powers of bools beside floats',
      () => T.ldexp(ones([2]), typed('bool', 2)),
      '"ldexp_cpu_exp" not implemented for \'bool\'',
    ],
    [
      'more repeats than memory holds',
      () => T.repeatInterleave(ones([2]), tensor([1, 2 ** 50], { dtype: 'int64' })),
      'cannot allocate',
    ],
  ])('%s', (_name, run, reason) => {
    expect(run).toThrow(reason);
  });

  const image = ones([1, 2, 4, 4]);
  const index = zeros([1, 2, 2, 2]).to('int64');
  it.each<[string, () => unknown]>([
    [
      'average pooling',
      () =>
        call(
          'avg_pool2d_backward',
          ones([1, 2, 3, 2]),
          image,
          [2, 2],
          [2, 2],
          [0, 0],
          false,
          true,
          null,
        ),
    ],
    ['adaptive averages', () => call('_adaptive_avg_pool2d_backward', tensor(1), image)],
    [
      'max pooling',
      () =>
        call(
          'max_pool2d_with_indices_backward',
          ones([1, 2, 3, 2]),
          image,
          [2, 2],
          [2, 2],
          [0, 0],
          [1, 1],
          false,
          index,
        ),
    ],
    [
      'adaptive maxima',
      () => call('adaptive_max_pool2d_backward', ones([1, 2, 1, 2]), image, index),
    ],
    [
      'resizing',
      () =>
        call('upsample_nearest2d_backward', ones([1, 2, 3, 3]), [8, 8], [1, 2, 4, 4], null, null),
    ],
    ['softmax', () => call('_log_softmax_backward_data', ones([2, 3]), ones([2, 4]), 1, 'float32')],
    [
      'batch norm',
      () =>
        call(
          'native_batch_norm_backward',
          ones([2, 1]),
          ones([2, 3]),
          null,
          null,
          null,
          ones([3]),
          ones([3]),
          true,
          0,
          [true, true, true],
        ),
    ],
    [
      'layer norm',
      () =>
        call(
          'native_layer_norm_backward',
          ones([2, 1]),
          ones([2, 3]),
          [3],
          ones([2, 1]),
          ones([2, 1]),
          null,
          null,
          [true, true, true],
        ),
    ],
    [
      'group norm',
      () =>
        call(
          'native_group_norm_backward',
          ones([2, 1]),
          ones([2, 3]),
          ones([2, 1]),
          ones([2, 1]),
          null,
          2,
          3,
          1,
          1,
          [true, true, true],
        ),
    ],
  ])('a gradient of %s of another shape than its result', (_name, run) => {
    expect(run).toThrow('Expected grad_output to have the same shape as output');
  });
});

describe('gradients of parts of a tensor', () => {
  it('are broadcast to the part, or refused', () => {
    expect(call('select_backward', tensor(1), [2, 2], -1, 0).toArray()).toEqual([
      [1, 0],
      [1, 0],
    ]);
    expect(() => call('select_backward', ones([3]), [2, 2], -1, 0)).toThrow('must match');
    expect(() => call('diagonal_backward', ones([2]), [2, 2], 0, 1, 1)).toThrow('identical');
  });
});

describe('types and values of results', () => {
  it("are the input's of huberLoss and softMarginLoss, the target's of BCE with logits", () => {
    const [x, y] = [ones([3]), typed('float64', 3)];
    expect(T.huberLoss(x, y).dtype).toBe('float32');
    expect(T.softMarginLoss(x, y).dtype).toBe('float32');
    expect(T.binaryCrossEntropyWithLogits(x, y).dtype).toBe('float64');
    expect(T.binaryCrossEntropyWithLogits(y, x).dtype).toBe('float32');
  });

  it('of ldexp are of the type of floats, whose range the power may leave', () => {
    const two = tensor([20], { dtype: 'int64' });
    const half = T.ldexp(tensor([2 ** -18]).to('float16'), two);
    expect([half.dtype, half.toArray()]).toEqual(['float16', [4]]);
    const wide = T.ldexp(tensor([3], { dtype: 'float64' }), tensor([200], { dtype: 'int64' }));
    expect(wide.toArray()).toEqual([3 * 2 ** 200]);
  });

  it('of a histogram of nothing lie between 0 and 1', () => {
    expect(T.histogram(zeros([0]), 2)[1].toArray()).toEqual([0, 0.5, 1]);
  });

  it('of an unknown reduction are each loss, as of none', () => {
    expect(call('soft_margin_loss', ones([3]), ones([3]), 3).sizes).toEqual([3]);
  });

  it('of soft margins with bytes negate the input', () => {
    const loss = T.softMarginLoss(ones([1]), tensor([2], { dtype: 'uint8' }));
    expect(loss.item()).toBeCloseTo(Math.log1p(Math.exp(-2)), 6);
  });

  it('of extrema over null are over everything', () => {
    expect(
      T.amax(
        tensor([
          [1, 3],
          [2, 0],
        ]),
        null,
      ).item(),
    ).toBe(3);
  });
});

describe('antialiased cubic resizing', () => {
  // A 1×1×2×6 image of 0, 1, …, 11.
  const image = (): Tensor => T.arange(0, 12).to('float32').reshape([1, 1, 2, 6]);
  const resize = (x: Tensor, outputSize: number[], alignCorners = false): Tensor =>
    T.upsample(x, { outputSize, mode: 'bicubic', antialias: true, alignCorners });

  it('averages with the filter that Pillow has', () => {
    const close = (actual: Tensor, expected: number[]): void =>
      expected.forEach((value, i) =>
        expect(actual.reshape([-1]).select(0, i).item()).toBeCloseTo(value, 4),
      );
    close(resize(image(), [1, 3]), [3.54393, 5.5, 7.45607]);
    close(
      resize(image(), [3, 4]),
      [
        -0.10671, 1.3143, 2.89623, 4.31724, 3.28803, 4.70903, 6.29097, 7.71198, 6.68276, 8.10377,
        9.6857, 11.10671,
      ],
    );
    close(resize(image(), [1, 3], true), [0.05047, 2.59691, 4.24699]);
    expect(resize(image().mul(20).to('uint8'), [1, 3]).reshape([-1]).toArray()).toEqual([
      71, 110, 149,
    ]);
    const x = image().requiresGrad_();
    resize(x, [1, 3])
      .mul(tensor([1, 2, 3]))
      .sum()
      .backward();
    close(x.grad!.select(2, 1), [0.19787, 0.32408, 0.42785, 0.58684, 0.80106, 0.6623]);
  });

  it('is refused where there is no image or no filter', () => {
    const reason = 'restricted to bilinear and bicubic modes and requires a 4-D tensor';
    const antialias = true;
    expect(() =>
      T.upsample(ones([1, 1, 4]), { outputSize: [2], mode: 'linear', antialias }),
    ).toThrow(reason);
    expect(() => T.upsample(image(), { outputSize: [1, 2], antialias })).toThrow(reason);
  });
});

describe('bad calls of OpInfo', () => {
  it.each<[string, () => unknown, string]>([
    [
      'arange that would take less than a step in the other direction',
      () => T.arange(1549556900, 1549556828, 1989724),
      'arange: bounds 1549556900 to 1549556828 are not reached with step 1989724',
    ],
    [
      'roll along a dimension of a number',
      () => T.roll(tensor(1), 0, 0),
      'Dimension specified as 0 but tensor has no dimensions',
    ],
  ])('%s', (_, refused, expected) => {
    expect(refused).toThrow(expected);
    expect(refused).toThrow(TesseraError);
  });
});
