/** @file Calls whose arguments were ignored, wrapped or met by the language's own errors; PyTorch 2.13 was called beside. */
import { TesseraError } from '@tessera/shared';
import { describe, expect, it } from 'vitest';
import {
  arange,
  broadcastShapes,
  empty,
  isIntegral,
  ones,
  promoteTypes,
  resultType,
  tensor,
  zeros,
} from '../src/index.js';
import {
  asStridedScatter,
  binaryCrossEntropyWithLogits,
  conv2d,
  convTranspose2d,
  maxPool2d,
  nllLoss,
} from '../src/internal.js';
import { solveTriangular } from '../src/linalg.js';
import { normal } from '../src/more.js';
import { erfcx } from '../src/special.js';

function refusal(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    expect(error).toBeInstanceOf(TesseraError);
    return (error as TesseraError).message;
  }
  throw new Error('nothing was thrown');
}

describe('to', () => {
  it('takes a device and a dtype', () => {
    const x = ones([2], { requiresGrad: true });
    const y = x.to('cpu', 'float64');
    expect(y.dtype).toBe('float64');
    expect(x.to('cpu', undefined)).toBe(x);
    y.sum().backward();
    expect(x.grad!.dtype).toBe('float32');
  });

  it.each<[string, readonly unknown[]]>([
    ['a dtype and a device', ['float64', 'cpu']],
    ['two dtypes', ['float64', 'float32']],
    ['no dtype', ['cpu', 'wgpu']],
    ['an option', ['cpu', { dtype: 'float64' }]],
  ])('refuses %s', (_name, args) => {
    const to = ones([2]).to.bind(ones([2])) as (...args: readonly unknown[]) => unknown;
    expect(refusal(() => to(...args))).toMatch(/dtype or a device is expected.*'wgpu', 'float16'/s);
  });
});

describe('isContiguous', () => {
  it('asks for the order of a format', () => {
    const x = empty([2, 3, 4, 5]);
    const y = x.contiguous({ memoryFormat: 'channelsLast' });
    expect([x, y].map((each) => each.isContiguous())).toEqual([true, false]);
    const memoryFormat = 'channelsLast';
    expect([x, y].map((each) => each.isContiguous({ memoryFormat }))).toEqual([false, true]);
    expect(empty([2, 1, 4, 5]).isContiguous({ memoryFormat })).toBe(true);
    expect(empty([2, 3]).isContiguous({ memoryFormat })).toBe(false);
    expect(y.isContiguous({ memoryFormat: 'channelsLast3d' })).toBe(false);
    expect(x.isContiguous({ memoryFormat: 'preserve' })).toBe(true);
    expect(x.isContiguous({ memoryFormat: 'contiguous' })).toBe(true);
  });

  it('knows no other option: invalid-argument', () => {
    expect(refusal(() => ones([2]).isContiguous({ format: 'channelsLast' } as never))).toContain(
      "isContiguous has no option 'format'",
    );
  });
});

describe('elements of integer tensors', () => {
  it.each([
    [300, 'uint8'],
    [-256, 'uint8'],
    [128, 'int8'],
    [300.7, 'int8'],
    [70_000, 'int16'],
    [2 ** 31, 'int32'],
    [2 ** 63, 'int64'],
    [2n ** 63n, 'int64'],
    [2n ** 40n, 'int32'],
    [2n ** 60n + 1n, 'int32'],
    [Number.NaN, 'int64'],
    [Infinity, 'int32'],
  ] as const)('%s as %s would overflow: invalid-argument', (value, dtype) => {
    expect(refusal(() => tensor([1, value], { dtype }))).toContain(
      `value cannot be converted to type ${dtype} without overflow: ${value}`,
    );
  });

  it.each([
    [-1, 'uint8', 255],
    [-255, 'uint8', 1],
    [255.9, 'int16', 255],
    [-1.5, 'int8', -1],
    [1e10, 'int64', 1e10],
    [5n, 'int32', 5],
    [300, 'bool', true],
    [1e10, 'float16', Infinity],
  ] as const)('%s as %s is what PyTorch makes of it', (value, dtype, expected) => {
    expect(tensor([value], { dtype }).toArray()).toEqual([expected]);
  });

  it('may be any of int64', () => {
    const least = -(2n ** 63n);
    expect(tensor([least, -least - 1n]).toTypedArray()).toEqual(
      new BigInt64Array([least, -least - 1n]),
    );
  });
});

describe('dtypes and shapes of results', () => {
  it('are asked for one by one or by a list', () => {
    const [ints, floats] = [ones([2], { dtype: 'int32' }), ones([2], { dtype: 'float16' })];
    expect(resultType(ints, floats)).toBe('float16');
    expect(resultType([ints, floats])).toBe('float16');
    expect(resultType(ints, 1.5)).toBe('float32');
  });

  it('of shapes that are no list: invalid-argument', () => {
    const misuse = broadcastShapes as (...shapes: readonly unknown[]) => unknown;
    expect(refusal(() => misuse([2], [3, 1]))).toMatch(/one list of shapes.*\[\[2\], \[3, 1\]\]/s);
  });
});

describe('negative log likelihood', () => {
  it.each([[[2, 3]], [[2, 3, 2, 2]]])('of integers %s is not implemented', (sizes) => {
    const target = zeros([2, ...sizes.slice(2)], { dtype: 'int64' });
    expect(refusal(() => nllLoss(ones(sizes, { dtype: 'int64' }), target))).toContain(
      `"nll_loss_out_frame" not implemented for 'int64'`,
    );
  });
});

describe('convolutions of images without rows', () => {
  const weight = ones([1, 1, 1, 1]);

  it.each([
    [() => conv2d(ones([1, 1, 0, 4]), weight), /larger than the input/],
    [() => conv2d(ones([0, 1, 0, 4]), weight), /larger than the input/],
    [() => conv2d(ones([0, 1, 2, 4]), ones([1, 1, 5, 5])), /larger than the input/],
    [() => conv2d(ones([1, 1, 0, 4]), weight, { padding: 1 }), /Only zero batch or zero/],
    [() => convTranspose2d(ones([1, 1, 0, 4]), weight), /larger than the input .*\[1, 1, 0, 4\]/],
  ])('are refused: shape-mismatch', (call, expected) => {
    expect(refusal(call)).toMatch(expected);
  });

  it('but not those of no images, or without channels', () => {
    expect(conv2d(ones([0, 1, 4, 4]), weight).shape).toEqual([0, 1, 4, 4]);
    expect(conv2d(ones([1, 0, 4, 4]), ones([2, 0, 3, 3])).shape).toEqual([1, 2, 2, 2]);
    expect(convTranspose2d(ones([0, 1, 1, 1]), ones([1, 1, 2, 2]), { padding: 1 }).shape).toEqual([
      0, 1, 0, 0,
    ]);
  });
});

describe('asStridedScatter', () => {
  const numbers = arange(12, { dtype: 'float32' });
  const src = tensor([-1, -2]);

  it('counts in the memory of what is not dense, as PyTorch does', () => {
    const gaps = numbers.view([3, 4]).slice(1, 0, 4, 2);
    const written = asStridedScatter(gaps, src, [2], [3], 1);
    expect([written.toArray(), written.strides]).toEqual([
      [
        [0, 2],
        [-2, 6],
        [8, 10],
      ],
      [4, 2],
    ]);
    expect(asStridedScatter(gaps, src, [2], [9], 1).toArray()).toEqual([
      [0, 2],
      [4, 6],
      [8, -2],
    ]);
    expect(gaps.toArray()).toEqual([
      [0, 2],
      [4, 6],
      [8, 10],
    ]);
  });

  it('counts from the beginning of memory, and begins where self does unless told', () => {
    const part = numbers.slice(0, 3, 9).view([2, 3]);
    const rows = (offset?: number): unknown =>
      asStridedScatter(part, src, [2], [1], offset).toArray();
    const [first, second] = [
      [-1, -2, 5],
      [6, 7, 8],
    ];
    expect(rows()).toEqual([first, second]);
    expect(rows(3)).toEqual([first, second]);
    expect(rows(4)).toEqual([[3, -1, -2], second]);
  });

  it('of what overlaps is dense', () => {
    const expanded = arange(3, { dtype: 'float32' }).expand([2, 3]);
    expect(asStridedScatter(expanded, src, [2], [4], 1).toArray()).toEqual([
      [0, -1, 2],
      [0, 1, -2],
    ]);
  });
});

describe("errors of the language where arguments are missing or of another kind are the library's", () => {
  // Types forbid these calls.
  const x = ones([1, 1, 4, 4]);
  it.each<[string, () => unknown, RegExp]>([
    [
      'a window that is left out',
      () => maxPool2d(x, undefined as never),
      /kernel_size must be.*not undefined/,
    ],
    [
      'options for a window',
      () => maxPool2d(x, { kernelSize: 2 } as never),
      /kernel_size must be.*not object/,
    ],
    ['a number to copy', () => x.copy_(3 as never), /'src' must be Tensor/],
    [
      'no target',
      () => binaryCrossEntropyWithLogits(x, undefined as never),
      /argument 'target' must be Tensor/,
    ],
    ['no triangle', () => solveTriangular(x, x, undefined as never), /missing the option 'upper'/],
    ['a number in a special function', () => erfcx(0.5 as never), /must be Tensor, not number/],
    ['a dtype of PyTorch', () => promoteTypes('float' as never, 'int64'), /no dtype 'float'/],
    ['another', () => promoteTypes('int64', 'half' as never), /no dtype 'half'/],
    ['no deviation', () => normal(x, null as never), /std must be a tensor or a number, not null/],
  ])('%s', (_name, call, expected) => {
    expect(refusal(call)).toMatch(expected);
  });

  it('asks tensors for their dtypes', () => {
    expect([isIntegral(ones([1], { dtype: 'int8' })), isIntegral(x)]).toEqual([true, false]);
  });
});
