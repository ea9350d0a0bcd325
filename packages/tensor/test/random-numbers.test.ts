/**
 * @file The numbers of a seed, recorded: whatever computes them, they stay what they are.
 */
import { describe, expect, it } from 'vitest';
import {
  type DType,
  type Tensor,
  bernoulli,
  dropout,
  full,
  getRngState,
  rand,
  randint,
  randn,
  randperm,
  setRngState,
  zeros,
} from '../src/index.js';
import { bernoulli_, nativeDropout, philox, uniform_ } from '../src/internal.js';
import {
  cauchy_,
  exponential_,
  geometric_,
  logNormal_,
  normal_,
} from '../src/ops/random/distribution-fill.js';

const STATES = [
  { seed: 0, offset: 0 },
  { seed: 0xfedcba98, offset: 12_345 },
  { seed: 42, offset: 0xfffffffe },
];
const SHAPES = [[1], [7], [33, 65]];

/** FNV-1a of the numbers' text, over states, shapes and dtypes: equal digests are equal numbers, to the last bit. */
function digest(dtypes: readonly DType[], draw: (sizes: number[], dtype: DType) => Tensor): string {
  let hash = 0x811c9dc5;
  for (const dtype of dtypes)
    for (const sizes of SHAPES)
      for (const state of STATES) {
        setRngState(state);
        const numbers = draw(sizes, dtype).contiguous().toTypedArray();
        expect(getRngState()).toEqual({ ...state, offset: state.offset + 1 });
        for (const char of Array.from(numbers, String).join())
          hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193);
      }
  return (hash >>> 0).toString(16);
}

const FLOATS: DType[] = ['float32', 'float64', 'float16', 'bfloat16'];
/** Engines' logarithms and cosines may differ in the last bit of a float64. */
const ROUNDED: DType[] = ['float32', 'float16', 'bfloat16'];
const ALL: DType[] = [...FLOATS, 'int64', 'int32', 'int16', 'int8', 'uint8'];

describe('the numbers of a seed', () => {
  it.each<[string, readonly DType[], (sizes: number[], dtype: DType) => Tensor, string]>([
    ['rand', FLOATS, (sizes, dtype) => rand(sizes, { dtype }), '5428bc2a'],
    ['randint', ALL, (sizes, dtype) => randint(-3, 100, sizes, { dtype }), 'c7a38afe'],
    ['randn', ROUNDED, (sizes, dtype) => randn(sizes, { dtype }), 'faf997bd'],
    [
      'uniform_',
      FLOATS,
      (sizes, dtype) => uniform_(zeros(sizes, { dtype }), -0.1, 0.3),
      '2436b9cb',
    ],
    [
      'uniform_ of a transposed view',
      FLOATS,
      (sizes, dtype) =>
        uniform_(zeros([...sizes].reverse(), { dtype }).permute(sizes.map((_, i) => i).reverse())),
      '5428bc2a',
    ],
    ['normal_', ROUNDED, (sizes, dtype) => normal_(zeros(sizes, { dtype }), 1.1, 0.7), '24f992f0'],
    ['bernoulli', FLOATS, (sizes, dtype) => bernoulli(full(sizes, 0.3, { dtype })), 'acc6e9d5'],
    ['bernoulli_', ALL, (sizes, dtype) => bernoulli_(zeros(sizes, { dtype }), 0.3), '39cbb193'],
    [
      'exponential_',
      ROUNDED,
      (sizes, dtype) => exponential_(zeros(sizes, { dtype }), 1.7),
      'f7a7188d',
    ],
    ['cauchy_', ROUNDED, (sizes, dtype) => cauchy_(zeros(sizes, { dtype })), '6ef4658f'],
    ['logNormal_', ROUNDED, (sizes, dtype) => logNormal_(zeros(sizes, { dtype })), 'de2a7869'],
    ['geometric_', ROUNDED, (sizes, dtype) => geometric_(zeros(sizes, { dtype }), 0.2), 'ebe455ed'],
    ['dropout', FLOATS, (sizes, dtype) => dropout(full(sizes, 3, { dtype })), '9d710db5'],
    [
      'masks of dropout',
      FLOATS,
      (sizes, dtype) => nativeDropout(zeros(sizes, { dtype }), 0.1, true)[1],
      '5b187e89',
    ],
    ['randperm', ['int64', 'float32'], ([n], dtype) => randperm(n!, { dtype }), 'a4fbe2b5'],
  ])('%s', (_, dtypes, draw, recorded) => {
    expect(digest(dtypes, draw)).toBe(recorded);
  });

  it('are those of the published algorithm', () => {
    const words = new Uint32Array(4);
    philox(0, 0, 0, 0, 0, words);
    expect(Array.from(words)).toEqual([0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
    // Any halves of factors, against exact integers.
    for (const [c0, c2, seed] of [
      [0xffffffff, 0xffffffff, 0xffffffff],
      [0x0000ffff, 0xffff0000, 0x80000000],
      [0x80000000, 0x7fffffff, 1],
    ] as const) {
      philox(c0, 0, c2, 0, seed, words);
      expect(Array.from(words)).toEqual(exactly(c0, c2, seed));
    }
  });
});

/** Philox with integers of any size: counter [c0, 0, c2, 0], key [seed, 0]. */
function exactly(c0: number, c2: number, seed: number): number[] {
  let [a, b, c, d] = [BigInt(c0), 0n, BigInt(c2), 0n];
  let [k0, k1] = [BigInt(seed), 0n];
  for (let round = 0; round < 10; round++) {
    const [p, q] = [a * 0xd2511f53n, c * 0xcd9e8d57n];
    [a, b, c, d] = [(q >> 32n) ^ b ^ k0, q & 0xffffffffn, (p >> 32n) ^ d ^ k1, p & 0xffffffffn];
    k0 = (k0 + 0x9e3779b9n) & 0xffffffffn;
    k1 = (k1 + 0xbb67ae85n) & 0xffffffffn;
  }
  return [a, b, c, d].map(Number);
}
