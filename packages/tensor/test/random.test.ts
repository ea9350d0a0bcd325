import { describe, expect, it } from 'vitest';
import {
  type DType,
  bernoulli,
  dropout,
  getRngState,
  manualSeed,
  multinomial,
  ones,
  rand,
  randLike,
  randint,
  randn,
  randperm,
  setRngState,
  tensor,
  zeros,
} from '../src/index.js';
import { bernoulli_, nativeDropout, normal_, philoxUniform, uniform_ } from '../src/internal.js';

function stats(values: ArrayLike<number>): { mean: number; deviation: number } {
  const list = Array.from(values);
  const mean = list.reduce((a, b) => a + b, 0) / list.length;
  return {
    mean,
    deviation: Math.sqrt(list.reduce((a, b) => a + (b - mean) ** 2, 0) / list.length),
  };
}

const numbers = (t: { toTypedArray(): ArrayLike<number | bigint> }): number[] =>
  Array.from(t.toTypedArray(), Number);

describe('random operators', () => {
  it('repeat from a seed, and each takes one offset', () => {
    manualSeed(7);
    const first = [rand([3]), randn([2]), randint(0, 10, [4])].map((t) => t.toArray());
    expect(getRngState().offset).toBe(3);
    manualSeed(7);
    expect([rand([3]), randn([2]), randint(0, 10, [4])].map((t) => t.toArray())).toEqual(first);
    manualSeed(8);
    expect(rand([3]).toArray()).not.toEqual(first[0]);
  });

  it('make element i from Philox at (seed, offset, i), so compiled code can repeat them', () => {
    manualSeed(123);
    rand([5]);
    const { seed, offset } = getRngState();
    const x = rand([4]);
    expect(numbers(x)).toEqual([0, 1, 2, 3].map((i) => philoxUniform(seed, offset, i)));
  });

  it('restore a saved state', () => {
    const state = getRngState();
    const a = randn([10]).toArray();
    setRngState(state);
    expect(randn([10]).toArray()).toEqual(a);
  });

  it('draws integers evenly from ranges of any size', () => {
    for (const range of [12_000_000, 2 ** 24 + 3, 3e9, 2 ** 45]) {
      const drawn = numbers(randint(0, range, [3_000]));
      const thirds = [0, 1, 2].map((t) => drawn.filter((x) => Math.floor((3 * x) / range) === t));
      for (const third of thirds) expect(Math.abs(third.length - 1_000)).toBeLessThan(120);
    }
  });

  it('draws integers from 0 where only the end is given', () => {
    manualSeed(4);
    const below = randint(7, [50], { dtype: 'int32' });
    manualSeed(4);
    expect(below.toArray()).toEqual(randint(0, 7, [50]).toArray());
    expect([below.dtype, randint(7, [2, 3]).shape]).toEqual(['int32', [2, 3]]);
  });

  it('have the right distributions', () => {
    manualSeed(1);
    const uniform = stats(numbers(rand([20_000])));
    expect(uniform.mean).toBeCloseTo(0.5, 1);
    expect(uniform.deviation).toBeCloseTo(Math.sqrt(1 / 12), 2);
    const normal = stats(numbers(randn([20_000])));
    expect(Math.abs(normal.mean)).toBeLessThan(0.03);
    expect(normal.deviation).toBeCloseTo(1, 1);
    const shifted = stats(numbers(normal_(zeros([20_000]), 5, 2)));
    expect(shifted.mean).toBeCloseTo(5, 0);
    expect(shifted.deviation).toBeCloseTo(2, 0);
    expect(stats(numbers(bernoulli_(zeros([20_000]), 0.2))).mean).toBeCloseTo(0.2, 1);
    const dice = numbers(randint(1, 7, [12_000]));
    for (let face = 1; face <= 6; face++)
      expect(dice.filter((d) => d === face).length).toBeGreaterThan(1700);
  });

  it.each<DType>(['float32', 'float64', 'float16', 'bfloat16'])('stay below 1 in %s', (dtype) => {
    manualSeed(3);
    const values = numbers(rand([50_000], { dtype }));
    expect(Math.max(...values)).toBeLessThan(1);
    expect(Math.min(...values)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...numbers(uniform_(zeros([10_000], { dtype }), -2, 2)))).toBeLessThanOrEqual(
      2,
    );
  });

  it('permute without loss', () => {
    manualSeed(5);
    const order = numbers(randperm(100));
    expect([...order].sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i));
    expect(order).not.toEqual([...order].sort((a, b) => a - b));
    expect(randperm(3).dtype).toBe('int64');
  });

  it('follow the probabilities of a tensor', () => {
    manualSeed(9);
    expect(numbers(bernoulli(zeros([50])))).toEqual(Array(50).fill(0));
    expect(numbers(bernoulli(ones([50])))).toEqual(Array(50).fill(1));
    expect(() => bernoulli(ones([2]).mul(2))).toThrow(/0 <= p <= 1/);
  });

  it('keep layout and dtype in the _like forms', () => {
    const x = zeros([2, 3], { dtype: 'float64' }).permute([1, 0]);
    const y = randLike(x);
    expect([y.dtype, y.strides]).toEqual(['float64', [1, 3]]);
  });
});

describe('dropout', () => {
  it('zeroes the share p, scales the rest, and differentiates with the same mask', () => {
    manualSeed(11);
    const x = ones([10_000], { requiresGrad: true });
    const y = dropout(x, { p: 0.25 });
    const kept = numbers(y.detach());
    expect(new Set(kept.map((v) => Math.round(v * 1000)))).toEqual(new Set([0, 1333]));
    expect(kept.filter((v) => v === 0).length / kept.length).toBeCloseTo(0.25, 1);
    y.sum().backward();
    expect(numbers(x.grad!)).toEqual(kept);
  });

  it('does nothing in evaluation or with p = 0, and everything with p = 1', () => {
    const x = ones([5]);
    expect(dropout(x, { p: 0.5, training: false })).toBe(x);
    expect(dropout(x, { p: 0 })).toBe(x);
    expect(numbers(dropout(x, { p: 1 }))).toEqual([0, 0, 0, 0, 0]);
    expect(numbers(nativeDropout(x, 0.5, false)[1])).toEqual([1, 1, 1, 1, 1]);
    expect(() => dropout(x, { p: 1.5 })).toThrow(/between 0 and 1/);
  });
});

describe('multinomial', () => {
  it('draws categories as often as their weights say, in rows, from one offset', () => {
    manualSeed(3);
    const weights = tensor([
      [1, 3, 0, 4],
      [0, 0, 5, 0],
    ]);
    const before = getRngState().offset;
    const drawn = multinomial(weights, 8000, { replacement: true });
    expect(getRngState().offset).toBe(before + 1);
    expect([drawn.dtype, drawn.shape]).toEqual(['int64', [2, 8000]]);
    const counts = [0, 0, 0, 0];
    for (const i of drawn.select(0, 0).toArray() as number[]) counts[i]!++;
    expect(counts[2]).toBe(0);
    [1000, 3000, 0, 4000].forEach((n, i) => expect(Math.abs(counts[i]! - n)).toBeLessThan(150));
    expect(new Set(drawn.select(0, 1).toArray() as number[])).toEqual(new Set([2]));
  });

  it('draws each category once without replacement, likely ones first', () => {
    manualSeed(4);
    const rows = ones([4000, 1]).mul(tensor([1, 0, 6, 3]));
    const drawn = rows.multinomial(3).toArray() as number[][];
    for (const row of drawn) expect([...row].sort()).toEqual([0, 2, 3]);
    const first = drawn.filter((row) => row[0] === 2).length;
    expect(Math.abs(first / 4000 - 0.6)).toBeLessThan(0.03);
    manualSeed(4);
    expect(rows.multinomial(3).toArray()).toEqual(drawn);
  });

  it('refuses what PyTorch refuses', () => {
    const p = ones([3]);
    expect(() => multinomial(p, 4)).toThrow('n_sample > prob_dist.size(-1)');
    expect(() => multinomial(p, 0)).toThrow('n_sample <= 0');
    expect(() => multinomial(ones([1, 1, 1]), 1)).toThrow('1 or 2 dim');
    expect(() => multinomial(tensor([1, 2], { dtype: 'int64' }), 1)).toThrow('floating-point');
    expect(() => multinomial(tensor([1, -1]), 1)).toThrow('element < 0');
    expect(() => multinomial(tensor([1, NaN]), 1)).toThrow('nan');
    expect(() => multinomial(zeros([2]), 1)).toThrow('sum of probabilities <= 0');
    expect(() => multinomial(p, 0)).toThrow(expect.objectContaining({ code: 'invalid-argument' }));
  });
});
