/** @file Memory seen as another dtype or in other sizes; what PyTorch 2.13 gives and refuses. */
import { describe, expect, it } from 'vitest';
import { type DType, type Tensor, arange, ones, tensor, zeros } from '../src/index.js';
import { withFakeTensors } from '../src/internal.js';
import { resize_, viewDtype } from '../src/more.js';

const floats = { dtype: 'float32' } as const;

describe('viewDtype', () => {
  const x = tensor([
    [1, 2],
    [3, 4],
  ]);

  it('reads bits as elements of the same width, in any layout', () => {
    expect(viewDtype(x, 'int32').toArray()).toEqual([
      [1065353216, 1073741824],
      [1077936128, 1082130432],
    ]);
    expect(viewDtype(x.t(), 'int32').strides).toEqual([1, 2]);
    expect(viewDtype(tensor(1), 'int32').item()).toBe(1065353216);
    expect(viewDtype(tensor([true, false]), 'uint8').toArray()).toEqual([1, 0]);
    const bytes = tensor([0, 2, 255], { dtype: 'uint8' });
    expect(viewDtype(bytes, 'bool').toArray()).toEqual([false, true, true]);
  });

  it('has more elements of less width, and fewer of more', () => {
    expect(viewDtype(x, 'int16').toArray()).toEqual([
      [0, 16256, 0, 16384],
      [0, 16448, 0, 16512],
    ]);
    expect(viewDtype(x, 'uint8').shape).toEqual([2, 8]);
    const [[a], [b]] = viewDtype(x, 'float64').toArray() as [[number], [number]];
    expect(a).toBeCloseTo(2.0000004731118679, 12);
    expect(b).toBeCloseTo(512.0001220703125, 6);
    const part = arange(16, floats).view([4, 4]).narrow(1, 2, 2);
    const wide = viewDtype(part, 'float64');
    expect([wide.shape, wide.strides, wide.storageOffset]).toEqual([[4, 1], [2, 1], 1]);
    expect(viewDtype(wide, 'float32').toArray()).toEqual(part.toArray());
    expect(viewDtype(zeros([0]), 'float64').shape).toEqual([0]);
  });

  it('shares memory, and counts writes', () => {
    const own = tensor([1, 2]);
    const bits = viewDtype(own, 'int32');
    bits.add_(2 ** 23);
    expect(own.toArray()).toEqual([2, 4]);
    expect(bits.storage).toBe(own.storage);
    expect(viewDtype(ones([2], { requiresGrad: true }), 'float32').requiresGrad).toBe(false);
  });

  it.each<[string, () => Tensor, DType, string]>([
    [
      'columns',
      () => x.t(),
      'uint8',
      'self.stride(-1) must be 1 to view Float as Byte (different element sizes), but got 2',
    ],
    [
      'a number',
      () => tensor(1),
      'uint8',
      'self.dim() cannot be 0 to view Float as Byte (different element sizes)',
    ],
    [
      'an odd size',
      () => ones([3, 3]),
      'float64',
      'self.size(-1) must be divisible by 2 to view Float as Double (different element sizes), but got 3',
    ],
    [
      'an odd offset',
      () => ones([3, 4]).narrow(1, 1, 2),
      'float64',
      'self.storage_offset() must be divisible by 2',
    ],
    [
      'an odd stride',
      () => ones([3, 5]).narrow(1, 0, 4),
      'float64',
      'self.stride(0) must be divisible by 2 to view Float as Double (different element sizes), but got 5',
    ],
    ['no dtype', () => x, 'long' as never, "no dtype 'long'"],
    [
      'a FakeTensor',
      () => withFakeTensors(() => ones([2])),
      'int32',
      'a functional graph cannot express',
    ],
  ])('refuses %s', (_name, make, dtype, message) => {
    expect(() => viewDtype(make(), dtype)).toThrow(message);
  });
});

describe('resize_', () => {
  it('lays a tensor out anew over its memory', () => {
    const x = arange(6, floats);
    expect(resize_(x, [2, 2])).toBe(x);
    expect(x.toArray()).toEqual([
      [0, 1],
      [2, 3],
    ]);
    expect(resize_(x, [2, 3]).toArray()).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    const columns = arange(6, floats).view([2, 3]).t();
    expect(resize_(columns, [3, 2]).strides).toEqual([1, 3]);
    expect(resize_(columns, [2, 2]).toArray()).toEqual([
      [0, 1],
      [2, 3],
    ]);
    const image = resize_(ones([6]), [1, 2, 1, 3], { memoryFormat: 'channelsLast' });
    expect(image.strides).toEqual([6, 1, 6, 2]);
  });

  it('takes more memory where it has to, with the same contents', () => {
    const x = arange(6, floats);
    const { storage } = x;
    resize_(x, [4, 2]);
    expect([x.shape, x.storage === storage]).toEqual([[4, 2], false]);
    expect(x.narrow(0, 0, 3).toArray()).toEqual([
      [0, 1],
      [2, 3],
      [4, 5],
    ]);
    const view = arange(6, floats).narrow(0, 4, 2);
    resize_(view, [4]);
    expect([view.storageOffset, view.narrow(0, 0, 2).toArray()]).toEqual([4, [4, 5]]);
    expect(resize_(zeros([0]), [2]).shape).toEqual([2]);
    expect(resize_(ones([2]), [0, 3]).shape).toEqual([0, 3]);
  });

  it.each<[string, () => unknown, string]>([
    [
      'a leaf',
      () => resize_(ones([3], { requiresGrad: true }), [2]),
      'cannot resize variables that require grad',
    ],
    [
      'a result',
      () => resize_(ones([3], { requiresGrad: true }).mul(2), [2]),
      'cannot resize variables',
    ],
    ['negative sizes', () => resize_(ones([3]), [-1]), 'no list of sizes'],
    ['no list', () => resize_(ones([3]), 2 as never), 'no list of sizes'],
    ['another option', () => resize_(ones([3]), [2], { format: 1 } as never), "no option 'format'"],
  ])('refuses %s', (_name, call, message) => {
    expect(call).toThrow(message);
  });
});
