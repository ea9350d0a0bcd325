/**
 * @file `segmentReduce` as PyTorch 2.13 has it.
 */
import { describe, expect, it } from 'vitest';
import { type Tensor, segmentReduce, tensor } from '../src/index.js';
import { gradientError, secondGradientError } from './support/gradient-check.js';

const int = (data: number[] | number[][]): Tensor => tensor(data, { dtype: 'int64' });
const data = tensor([
  [1, 2],
  [3, 4],
  [5, 6],
  [7, 8],
]);
const lengths = int([2, 0, 2]);
const REDUCTIONS = ['sum', 'mean', 'max', 'min', 'prod'] as const;
const INF = Infinity;

it.each([
  [
    'sum',
    [
      [4, 6],
      [0, 0],
      [12, 14],
    ],
    [
      [5, 7],
      [1, 1],
      [13, 15],
    ],
  ],
  [
    'mean',
    [
      [2, 3],
      [NaN, NaN],
      [6, 7],
    ],
    [
      [2.5, 3.5],
      [1, 1],
      [6.5, 7.5],
    ],
  ],
  [
    'max',
    [
      [3, 4],
      [-INF, -INF],
      [7, 8],
    ],
    [
      [3, 4],
      [1, 1],
      [7, 8],
    ],
  ],
  [
    'min',
    [
      [1, 2],
      [INF, INF],
      [5, 6],
    ],
    [
      [1, 1],
      [1, 1],
      [1, 1],
    ],
  ],
  [
    'prod',
    [
      [3, 8],
      [1, 1],
      [35, 48],
    ],
    [
      [3, 8],
      [1, 1],
      [35, 48],
    ],
  ],
] as const)('%s by lengths, and with an initial value of 1', (reduce, plain, from1) => {
  expect(segmentReduce(data, reduce, { lengths }).toArray()).toEqual(plain);
  expect(segmentReduce(data, reduce, { lengths, initial: 1 }).toArray()).toEqual(from1);
  const offsets = int([0, 2, 2, 4]);
  expect(segmentReduce(data, reduce, { offsets }).toArray()).toEqual(plain);
});

it('leaves out what lies in no segment', () => {
  expect(segmentReduce(data, 'sum', { offsets: int([1, 2, 4]) }).toArray()).toEqual([
    [3, 4],
    [12, 14],
  ]);
  expect(segmentReduce(data, 'sum', { lengths: int([2, 1]), unsafe: true }).toArray()).toEqual([
    [4, 6],
    [5, 6],
  ]);
});

it('along another axis, with segments of its own for each row', () => {
  const rows = {
    lengths: int([
      [1, 3],
      [4, 0],
    ]),
    axis: 1,
  };
  expect(segmentReduce(data.t(), 'max', rows).toArray()).toEqual([
    [1, 7],
    [8, -INF],
  ]);
  expect(segmentReduce(data.t(), 'sum', { ...rows, axis: -1 }).toArray()).toEqual([
    [1, 15],
    [20, 0],
  ]);
});

it('keeps NaN and halves', () => {
  const x = tensor([1, NaN, 3]);
  expect(segmentReduce(x, 'max', { lengths: int([3]), initial: 5 }).toArray()).toEqual([NaN]);
  expect(segmentReduce(data.to('float16'), 'sum', { lengths: int([4]) }).dtype).toBe('float16');
});

describe('gradients', () => {
  it.each([
    ['sum', [1, 1, 1, 100, 100, 100], [1, 1, 1, 100, 100, 100]],
    [
      'mean',
      [1 / 3, 1 / 3, 1 / 3, 100 / 3, 100 / 3, 100 / 3],
      [1 / 3, 1 / 3, 1 / 3, 100 / 3, 100 / 3, 100 / 3],
    ],
    ['max', [0, 0.5, 0.5, 0, 50, 50], [0, 0.5, 0.5, 0, 50, 50]],
    ['min', [1, 0, 0, 100, 0, 0], [1, 0, 0, 100, 0, 0]],
    ['prod', [9, 3, 3, 400, 0, 0], [18, 6, 6, 800, 0, 0]],
  ] as const)(
    "of %s are PyTorch's, with ties, zeros and an empty segment",
    (reduce, plain, from2) => {
      for (const [initial, expected] of [
        [null, plain],
        [2, from2],
      ] as const) {
        const x = tensor([1, 3, 3, 0, 2, 2], { dtype: 'float64', requiresGrad: true });
        segmentReduce(x, reduce, { lengths: int([3, 0, 3]), initial }).backward(
          tensor([1, 10, 100], { dtype: 'float64' }),
        );
        (x.grad!.toArray() as number[]).forEach((g, i) => expect(g).toBeCloseTo(expected[i]!, 12));
      }
    },
  );
  it.each(REDUCTIONS)('of %s are right to second order', (reduce) => {
    const x = tensor(
      [
        [1, 3, 2],
        [0.5, -2, 4],
      ],
      { dtype: 'float64' },
    );
    const fn = (v: Tensor): Tensor =>
      segmentReduce(v, reduce, {
        lengths: int([
          [2, 1],
          [1, 2],
        ]),
        axis: 1,
      });
    expect(gradientError(fn, [x])).toBeLessThan(1e-6);
    expect(secondGradientError(fn, [x])).toBeLessThan(1e-5);
  });
});

it("refuses in PyTorch's words", () => {
  const refused =
    (reduce: string, options: object, x = data): (() => Tensor) =>
    () =>
      segmentReduce(x, reduce as 'sum', options);
  expect(refused('sum', {})).toThrow(
    'segment_reduce(): Either lengths or offsets must be defined.',
  );
  expect(refused('foo', { lengths })).toThrow(
    'reduce argument must be either sum, prod, mean, amax or amin, got foo',
  );
  expect(refused('sum', { lengths: int([2, 1]) })).toThrow(
    'segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe.',
  );
  expect(refused('sum', { lengths: int([2, -1, 3]) })).toThrow('lengths contains negative value!');
  expect(refused('sum', { lengths: tensor([2, 2]) })).toThrow(
    `"_segment_reduce_lengths_cpu_kernel1" not implemented for 'Float'`,
  );
  expect(refused('sum', { lengths: int([4]) }, data.to('int64'))).toThrow(
    `"_segment_reduce_cpu" not implemented for 'Long'`,
  );
  expect(refused('max', { lengths: int([2]), axis: 1 })).toThrow(
    'segment_reduce(): Expected axis to be the last dimension of lengths but got 1.',
  );
  expect(refused('sum', { length: lengths })).toThrow(/length/);
});
