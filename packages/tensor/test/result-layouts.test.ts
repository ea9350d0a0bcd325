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
};
const kept: Readonly<Record<string, [call: () => Tensor, strides: number[]]>> = {
  indexFill: [() => columns.indexFill(0, at, 1), [1, 5]],
  indexPut: [() => columns.indexPut([at], rows), [1, 5]],
  'batchNorm of an image': [() => T.batchNorm(image, { training: true }), [60, 1, 15, 3]],
  'maxPool2d of an image': [() => T.maxPool2d(image, 2), [12, 1, 6, 3]],
  'maxPool3d of a volume': [() => T.maxPool3d(volume, 2), [12, 1, 12, 4, 2]],
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
