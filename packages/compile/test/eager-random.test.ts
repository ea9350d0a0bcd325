/**
 * @file Random numbers of reference kernels, of eager operators as compiled code, and of compiled functions: one stream.
 */
import { functional as F } from '@tessera/nn';
import {
  type DType,
  type Tensor,
  bernoulli,
  dropout,
  full,
  getRngState,
  rand,
  randint,
  randLike,
  randn,
  randnLike,
  setRngState,
  zeros,
} from '@tessera/tensor';
import { nativeDropout } from '@tessera/tensor/internal';
import { describe, expect, it } from 'vitest';
import { compile, config } from '../src/index.js';

const FLOATS: DType[] = ['float32', 'float64', 'float16', 'bfloat16'];
const NUMBERS: DType[] = [...FLOATS, 'int64', 'int32', 'int16', 'int8', 'uint8'];
const STATES = [
  { seed: 0, offset: 0 },
  { seed: 0xfedcba98, offset: 12_345 },
  { seed: 42, offset: 0x7ffffffe },
];
/** More sizes than get code of their own, of one rank and of two. */
const SHAPES = [[1], [3], [17], [1003], [64], [5, 3], [4, 8], [33, 65], [1, 7], [9, 11]];
const FEW = [[7], [33, 65]];

/** Numbers drawn by one draw in every shape and state. */
function observe(shapes: number[][], draw: (sizes: number[]) => Tensor): number[][] {
  return shapes.flatMap((sizes) =>
    STATES.map((state) => {
      setRngState(state);
      const numbers = Array.from(draw(sizes).contiguous().toTypedArray(), Number);
      expect(getRngState()).toEqual({ ...state, offset: state.offset + 1 });
      return numbers;
    }),
  );
}

function byReferenceKernels<T>(fn: () => T): T {
  return config.patch({ 'eager.kernels': 'reference' }, fn);
}

type Draw = (sizes: number[], dtype: DType) => Tensor;

describe('numbers drawn are the same to the last bit by reference kernels, in eager and compiled code', () => {
  it.each<[string, readonly DType[], Draw]>([
    ['rand', FLOATS, (sizes, dtype) => rand(sizes, { dtype })],
    ['randLike', FLOATS, (sizes, dtype) => randLike(zeros(sizes, { dtype }))],
    ['randint', NUMBERS, (sizes, dtype) => randint(-3, 100, sizes, { dtype })],
    ['randint of a large range', ['int64'], (sizes) => randint(-(2 ** 40), 2 ** 40 + 1, sizes)],
    [
      'randint of millions',
      ['int64', 'int32'],
      (sizes, dtype) => randint(5, 12_000_000, sizes, { dtype }),
    ],
    ['randint of many ranges', ['int64'], (sizes) => randint(2, 10 + 7 * sizes.at(-1)!, sizes)],
    ['uniform_', FLOATS, (sizes, dtype) => zeros(sizes, { dtype }).uniform_(-0.1, 0.3)],
    [
      'uniform_ with bounds that are not float32',
      FLOATS,
      (sizes, dtype) => zeros(sizes, { dtype }).uniform_(-1 / Math.sqrt(sizes[0]!), 1 / 3),
    ],
    ['uniform_ of a view', FLOATS, (sizes, dtype) => zeros(sizes, { dtype }).t().uniform_(0, 0.7)],
    ['bernoulli', FLOATS, (sizes, dtype) => bernoulli(full(sizes, 0.3125, { dtype }))],
    ['bernoulli_', NUMBERS, (sizes, dtype) => zeros(sizes, { dtype }).bernoulli_(0.3)],
    ['dropout', FLOATS, (sizes, dtype) => dropout(full(sizes, 1 / 3, { dtype }), { p: 0.1 })],
    ['masks', FLOATS, (sizes, dtype) => nativeDropout(zeros(sizes, { dtype }), 0.1, true)[1]],
  ])('%s', (_, dtypes, draw) => {
    for (const dtype of dtypes) {
      const drawn = (sizes: number[]): Tensor => draw(sizes, dtype);
      const reference = (shapes: number[][]): number[][] =>
        byReferenceKernels(() => observe(shapes, drawn));
      expect(observe(SHAPES, drawn)).toEqual(reference(SHAPES));
      expect(observe(FEW, compile(drawn))).toEqual(reference(FEW));
    }
  });
});

type Fill = (x: Tensor) => Tensor;

describe('numbers made by logarithms are the same to the last bit in eager and compiled code, near those of reference kernels', () => {
  it.each<[string, Fill, number]>([
    ['randnLike', randnLike, 4e-6],
    ['normal_', (x) => x.normal_(-2, 0.02), 4e-6],
    ['normal_ of a view', (x) => x.t().normal_(), 4e-6],
    ['exponential_', (x) => x.exponential_(1.5), 4e-6],
    ['logNormal_', (x) => x.logNormal_(0.5, 0.25), 4e-5],
  ])('%s', (_, draw, error) => {
    for (const dtype of ['float32', 'float16', 'bfloat16'] as const) {
      const drawn = (sizes: number[]): Tensor => draw(zeros(sizes, { dtype }));
      const eager = observe(SHAPES, drawn);
      expect(observe(FEW, compile(drawn))).toEqual(observe(FEW, drawn));
      const step = dtype === 'float32' ? 0 : dtype === 'float16' ? 2 ** -10 : 2 ** -7;
      byReferenceKernels(() => observe(SHAPES, drawn)).forEach((numbers, i) => {
        numbers.forEach((number, j) => {
          const off = Math.abs(eager[i]![j]! - number);
          expect(off).toBeLessThanOrEqual(error + step * Math.abs(number));
        });
      });
    }
  });

  it('numbers of float64 come from reference kernels, with all their digits', () => {
    const drawn = (sizes: number[]): Tensor => randn(sizes, { dtype: 'float64' });
    expect(observe(FEW, drawn)).toEqual(byReferenceKernels(() => observe(FEW, drawn)));
  });
});

it('each draw of several takes its offset, whatever computes it', () => {
  const fn = (): Tensor[] => [
    rand([3]),
    randn([4]),
    F.dropout(full([5], 2.5), { p: 0.25 }),
    randint(0, 9, [2]),
    rand([0]),
    zeros([6]).uniform_(),
  ];
  const run = (): [number[][], unknown] => {
    setRngState({ seed: 3, offset: 8 });
    return [fn().map((x) => x.toArray() as number[]), getRngState()];
  };
  const [numbers, state] = run();
  const [expected, after] = byReferenceKernels(run);
  expect(state).toEqual(after);
  numbers.forEach((of, i) =>
    of.forEach((number, j) => expect(number).toBeCloseTo(expected[i]![j]!, 5)),
  );
});

it('parameters that are none are refused, as by reference kernels', () => {
  for (const draw of [
    () => zeros([4]).uniform_(1, 0),
    () => zeros([4]).bernoulli_(1.5),
    () => randint(3, 3, [4]),
    () => dropout(zeros([4]), { p: 2 }),
    () => zeros([4]).normal_(0, -1),
    () => zeros([4]).exponential_(0),
    () => zeros([4]).cauchy_(0, -1),
    () => zeros([4]).logNormal_(0, 0),
    () => zeros([4]).geometric_(1),
  ]) {
    expect(draw).toThrow(expect.objectContaining({ code: 'invalid-argument' }));
    expect(compile(draw)).toThrow(expect.objectContaining({ code: 'invalid-argument' }));
    expect(() => byReferenceKernels(draw)).toThrow(
      expect.objectContaining({ code: 'invalid-argument' }),
    );
  }
  // Of a tensor's numbers only an eager operator knows.
  expect(() => bernoulli(full([4], 2.5))).toThrow(/0 <= p <= 1/);
});
