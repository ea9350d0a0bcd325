/**
 * @file Strides of results, as PyTorch 2.13 has them: which operators keep the layout of what they read.
 */
import { describe, expect, it } from 'vitest';
import * as api from '../src/index.js';
import * as internal from '../src/internal.js';
import { type Tensor, ones, randn, tensor, zeros } from '../src/index.js';

const T = { ...api, ...internal };
const long = (...data: number[]) => tensor(data, { dtype: 'int64' });

/** [5, 4], columns first. */
const columns = randn([4, 5]).t();
const image = randn([2, 3, 4, 5]).contiguous({ memoryFormat: 'channelsLast' });
const volume = randn([1, 2, 3, 6, 5]).contiguous({ memoryFormat: 'channelsLast3d' });
const at = long(0, 2);
const places = zeros([2, 4], { dtype: 'int64' });
const rows = ones([2, 4]);
const rowsOf = (count: number): Tensor => ones([count, 4]);
/** The first result of an operator that only graphs name. */
const call = (name: string, ...args: unknown[]): Tensor =>
  [api.callOp(api.getOp(`aten::${name}`), args)].flat()[0] as Tensor;
const turned = (...sizes: number[]) => randn(sizes).transpose(0, 2);

const dense: Readonly<Record<string, [call: () => Tensor, strides: number[]]>> = {
  indexAdd: [() => columns.indexAdd(0, at, rows), [4, 1]],
  indexReduce: [() => columns.indexReduce(0, at, rows, 'prod'), [4, 1]],
  'scatter of a tensor': [() => columns.scatter(0, places, rows), [4, 1]],
  'scatter of a number': [() => columns.scatter(0, places, 1), [4, 1]],
  scatterAdd: [() => columns.scatterAdd(0, places, rows), [4, 1]],
  scatterReduce: [() => columns.scatterReduce(0, places, rows, 'sum'), [4, 1]],
  take: [() => columns.take(places.t()), [2, 1]],
  maskedFill: [() => columns.maskedFill(columns.gt(0), 1), [4, 1]],
  'maskedFill of an image': [() => image.maskedFill(tensor(true), 1), [60, 20, 5, 1]],
  'maskedFill with a tensor': [() => columns.maskedFill(columns.gt(0), tensor(1)), [4, 1]],
  'batchNorm of rows': [() => T.batchNorm(columns, { training: true }), [4, 1]],
  'batchNorm of sequences': [() => T.batchNorm(turned(3, 4, 5), { training: true }), [12, 3, 1]],
  'batchNorm with statistics': [
    () => T.batchNorm(turned(3, 4, 5, 2), { runningMean: zeros([4]), runningVar: ones([4]) }),
    [24, 6, 2, 1],
  ],
  'adaptiveMaxPool3d of a volume': [
    () => T.adaptiveMaxPool3d(volume, [1, 2, 2])[0],
    [8, 4, 4, 2, 1],
  ],
  maskedScatter: [() => columns.maskedScatter(columns.gt(0), columns), [4, 1]],
  logSigmoid: [() => T.logSigmoid(columns), [4, 1]],
  mse_loss_backward: [() => call('mse_loss_backward', columns, columns, columns, 0), [4, 1]],
  'leaky_relu_backward, of self first': [
    () => call('leaky_relu_backward', columns, rowsOf(5), 0.1, false),
    [4, 1],
  ],
  'threshold_backward, of self first': [
    () => call('threshold_backward', columns, rowsOf(5), 0),
    [4, 1],
  ],
  '_prelu_kernel_backward, of self first': [
    () => call('_prelu_kernel_backward', columns, rowsOf(5), ones([1, 1])),
    [4, 1],
  ],
  upsample_bicubic2d_backward: [
    () => call('upsample_bicubic2d_backward', image, [4, 5], [2, 3, 6, 6], false, null, null),
    [108, 36, 6, 1],
  ],
  'avgPool3d of a volume': [() => T.avgPool3d(volume, [1, 3, 5]), [12, 6, 2, 1, 1]],
  'adaptiveAvgPool3d of a volume without batch': [
    () => T.adaptiveAvgPool3d(image, [2, 2, 2]),
    [8, 4, 2, 1],
  ],
  'avgPool2d where the one image begins within': [
    () => T.avgPool2d(ones([1, 3, 9, 9]).asStrided([1, 3, 9, 9], [3, 1, 27, 3]), 2),
    [48, 16, 4, 1],
  ],
  'stack at the end': [() => T.stack([image, image], -1), [120, 40, 10, 2, 1]],
};
const kept: Readonly<Record<string, [call: () => Tensor, strides: number[]]>> = {
  indexFill: [() => columns.indexFill(0, at, 1), [1, 5]],
  indexPut: [() => columns.indexPut([at], rows), [1, 5]],
  'batchNorm of an image': [() => T.batchNorm(image, { training: true }), [60, 1, 15, 3]],
  'maxPool2d of an image': [() => T.maxPool2d(image, 2), [12, 1, 6, 3]],
  'maxPool3d of a volume': [() => T.maxPool3d(volume, 2), [12, 1, 12, 4, 2]],
  upsample_trilinear3d_backward: [
    () =>
      call(
        'upsample_trilinear3d_backward',
        volume,
        [3, 6, 5],
        [1, 2, 4, 4, 4],
        false,
        null,
        null,
        null,
      ),
    [128, 1, 32, 8, 2],
  ],
  'conv3d of volumes': [
    () => T.conv3d(T.cat([volume, volume]), ones([3, 2, 2, 2, 2])),
    [120, 1, 60, 12, 3],
  ],
  'convTranspose3d of volumes': [
    () => T.convTranspose3d(T.cat([volume, volume]), ones([2, 3, 2, 2, 2])),
    [504, 1, 126, 18, 3],
  ],
  put: [() => columns.put(at, ones([2])), [1, 5]],
  'pad of an image': [() => T.pad(image, [1, 1]), [84, 1, 21, 3]],
  'pad of a volume': [() => T.pad(volume, [1, 1]), [252, 1, 84, 14, 2]],
  'pad that only takes away': [() => T.pad(columns, [-1, 0]), [1, 5]],
  'cat of volumes': [() => T.cat([volume, volume], 2), [360, 1, 60, 10, 2]],
  'stack of images': [() => T.stack([image, image]), [120, 60, 1, 15, 3]],
  'stack of images as channels': [() => T.stack([image, image], 1), [120, 3, 1, 30, 6]],
  'stack of volumes': [() => T.stack([volume, volume], 2), [2, 1, 180, 60, 10, 2]],
  'binaryCrossEntropyWithLogits, of the target': [
    () => T.binaryCrossEntropyWithLogits(ones([5, 4]), columns, { reduction: 'none' }),
    [1, 5],
  ],
};
/** The dims taken whole and those of the indices are ordered as the strides of the operands say. */
const indexed: Readonly<Record<string, [call: () => Tensor, strides: number[]]>> = {
  'in the middle': [() => turned(5, 5, 5).index([null, long(0, 3)]), [1, 5, 10]],
  'at the front': [() => turned(5, 5, 5).index([long(0, 3)]), [25, 1, 5]],
  'at the end': [() => turned(5, 5, 5).index([null, null, long(0, 3)]), [2, 10, 1]],
  'in two places': [() => turned(5, 5, 5).index([long(0, 3), null, long(1, 2)]), [5, 1]],
  'by a matrix': [
    () =>
      turned(5, 5, 5).index([
        null,
        tensor(
          [
            [0, 3],
            [1, 2],
          ],
          { dtype: 'int64' },
        ),
      ]),
    [1, 10, 5, 20],
  ],
  'of columns': [() => columns.index([null, at]), [2, 1]],
};

for (const [name, cases] of Object.entries({
  'are row-major whatever the argument was': dense,
  'keep the layout': kept,
  'of advanced indexing': indexed,
}))
  describe(`strides ${name}`, () => {
    it.each(Object.entries(cases))('%s', (_name, [call, strides]) => {
      expect(call().strides).toEqual(strides);
    });
  });
