/**
 * @file Every reduction, for every kind of target, against plain float64 loops.
 *
 * Values are dealt to lanes as a machine would deal them: each lane takes in its own in order and settles now and
 * then, some lanes get none, and parts are merged in an order of their own.
 */
import { describe, expect, it } from 'vitest';
import type { DType } from '@tessera/tensor';
import type { ReduceOp } from '../src/ir/expr.js';
import { printReduction } from '../src/schedule/print-reduction.js';
import { reductionOf } from '../src/schedule/reductions.js';
import type { Reduction } from '../src/schedule/reduction.js';
import { ReductionRun } from '../src/schedule/run-reduction.js';
import { REFERENCE_TARGET, type TargetDescription } from '../src/schedule/target-description.js';

const TARGETS: Readonly<Record<string, TargetDescription>> = {
  reference: REFERENCE_TARGET,
  vectors: {
    widestFloat: 'float64',
    int64: 'native',
    separateNan: true,
    comparesNan: true,
    skipsIdleLanes: true,
  },
  threads: {
    widestFloat: 'float32',
    int64: 'i32',
    separateNan: false,
    comparesNan: false,
    skipsIdleLanes: false,
  },
};

/** Small numbers with ties, from a linear congruence. */
function numbers(count: number, seed: number): number[] {
  let state = seed;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return ((state >>> 16) % 41) / 4 - 5;
  });
}

/** The results of `values` dealt to `lanes` lanes in turn, with one lane more that gets nothing. */
function reduced(
  reduction: Reduction,
  values: readonly number[],
  lanes: number,
): readonly number[] {
  const runs = Array.from({ length: lanes + 1 }, () => new ReductionRun(reduction));
  for (const run of runs) run.reset();
  values.forEach((x, at) => {
    runs[at % lanes]!.add(x, at);
    if (at % (32 * lanes) === 0) for (const run of runs) run.settle();
  });
  const counts = runs.map((_, lane) => values.filter((_, at) => at % lanes === lane).length);
  const parts = runs.map((run) => run.part());
  // A tree that joins distant lanes first, so that places are met out of order.
  const whole = runs[lanes]!;
  for (let lane = lanes - 1; lane >= 0; lane--) whole.merge(parts[lane]!, counts[lane]!);
  return whole.finish();
}

function place(values: readonly number[], isBetter: (x: number, best: number) => boolean): number {
  let best = 0;
  values.forEach((x, i) => {
    const y = values[best]!;
    if (!Number.isNaN(y) && (Number.isNaN(x) || isBetter(x, y))) best = i;
  });
  return best;
}

const total = (values: readonly number[]): number => values.reduce((sum, x) => sum + x, 0);

/** What each reduction gives, in the plainest way. */
const EXPECTED: Readonly<Record<ReduceOp, (values: readonly number[]) => readonly number[]>> = {
  sum: (v) => [total(v)],
  prod: (v) => [v.reduce((product, x) => product * x, 1)],
  max: (v) => [v.some(Number.isNaN) ? NaN : Math.max(...v)],
  min: (v) => [v.some(Number.isNaN) ? NaN : Math.min(...v)],
  any: (v) => [Number(v.some((x) => x !== 0))],
  all: (v) => [Number(v.every((x) => x !== 0))],
  argmax: (v) => [place(v, (x, best) => x > best)],
  argmin: (v) => [place(v, (x, best) => x < best)],
  welford: (v) => {
    const mean = v.length === 0 ? 0 : total(v) / v.length;
    return [mean, total(v.map((x) => (x - mean) ** 2))];
  },
  online_softmax: (v) => {
    const max = EXPECTED.max(v)[0]!;
    return [max, v.length === 0 ? NaN : total(v.map((x) => Math.exp(x - max)))];
  },
  mean: (v) => [total(v) / v.length],
  peak: (v) => [Math.max(...v.filter((x) => !Number.isNaN(x)))],
};

const FLOAT_OPS = Object.keys(EXPECTED) as ReduceOp[];
const INTEGER_OPS: ReduceOp[] = ['sum', 'prod', 'max', 'min', 'any', 'all', 'argmax', 'argmin'];

const FLOAT_ROWS: Readonly<Record<string, readonly number[]>> = {
  ordinary: numbers(211, 1),
  ties: [3, 7, 7, 1, 7, -2, -2, 3],
  one: [2.5],
  'equal to what nothing gives': [-Infinity, -Infinity, -Infinity],
  'infinite one way': [Infinity, 1, -3, Infinity, 2, 4, Infinity],
  'infinite both ways': [1, Infinity, -3, -Infinity, 2],
  'NaN among numbers': [1, 5, NaN, 9, NaN, 2],
  'NaN last': [4, 4, 2, NaN],
  zeros: [0, 0, 0, 0, 0],
};

function expectClose(actual: readonly number[], wanted: readonly number[]): void {
  expect(actual).toHaveLength(wanted.length);
  wanted.forEach((value, i) => {
    if (Number.isFinite(value))
      expect(Math.abs(actual[i]! - value)).toBeLessThanOrEqual(2e-5 * Math.max(1, Math.abs(value)));
    else expect(actual[i]).toBe(value);
  });
}

describe.each(Object.entries(TARGETS))('on a machine of %s', (_name, target) => {
  it.each(FLOAT_OPS)('%s of float32 is what a plain loop gives', (op) => {
    for (const settles of [false, true]) {
      const reduction = reductionOf({ op, dtype: 'float32', target, settles });
      for (const row of Object.values(FLOAT_ROWS)) {
        // Where targets differ on purpose: a maximum whose sum has NaN may skip it.
        const skips = row.some(Number.isNaN);
        if (op === 'peak' && skips) continue;
        for (const lanes of [1, 3, 4]) {
          const values = op === 'prod' ? row.map((x) => x / 4) : row;
          const from = op === 'online_softmax' && skips ? 1 : 0;
          expectClose(
            reduced(reduction, values, lanes).slice(from),
            EXPECTED[op](values).slice(from),
          );
        }
      }
    }
  });

  it.each(INTEGER_OPS)('%s of integers is exact', (op) => {
    for (const dtype of ['int64', 'int32', 'uint8', 'bool'] as const) {
      if ((dtype === 'bool' || dtype === 'uint8') && (op === 'sum' || op === 'prod')) continue;
      const reduction = reductionOf({ op, dtype, target });
      // Padding must be a value of the type.
      const { neutral } = reduction;
      if (dtype === 'bool' && neutral !== undefined) expect([0, 1]).toContain(neutral);
      const fit = (x: number): number =>
        dtype === 'bool' ? Number(x > 0) : dtype === 'uint8' ? Math.abs(x) : x;
      for (const row of [numbers(12, 5).map(Math.trunc), [4, 4, 9, 9, 1], [0, 0], [7]])
        for (const lanes of [1, 3])
          expect(reduced(reduction, row.map(fit), lanes)).toEqual(EXPECTED[op](row.map(fit)));
    }
  });

  it('keeps what many equal float32 values add up to', () => {
    const x = Math.fround(0.1);
    for (const op of ['sum', 'mean', 'welford', 'online_softmax'] as const) {
      const run = new ReductionRun(reductionOf({ op, dtype: 'float32', target, settles: true }));
      run.reset();
      const count = 200_000;
      const { settling } = run.reduction;
      const every = settling?.every ?? 1000;
      for (let i = 0; i < count; i++) {
        run.add(x, i);
        if (i % every === every - 1) run.settle();
      }
      run.part();
      const wanted = { sum: [x * count], mean: [x], welford: [x, 0], online_softmax: [x, count] }[
        op
      ];
      run
        .finish()
        .forEach((value, i) =>
          expect(Math.abs(value - wanted[i]!)).toBeLessThanOrEqual(1e-6 * Math.max(1, wanted[i]!)),
        );
    }
  });

  it('reduces nothing to the identities', () => {
    for (const [op, dtype, wanted] of [
      ['sum', 'float32', 0],
      ['prod', 'float32', 1],
      ['max', 'float32', -Infinity],
      ['min', 'int32', 2 ** 31 - 1],
      ['any', 'bool', 0],
      ['all', 'float32', 1],
      ['argmax', 'float32', 0],
    ] as const)
      expect(reduced(reductionOf({ op, dtype, target }), [], 2)).toEqual([wanted]);
  });

  it('changes no result for neutral values', () => {
    for (const op of FLOAT_OPS) {
      const reduction = reductionOf({ op, dtype: 'float32', target });
      const { neutral } = reduction;
      if (neutral === undefined || op === 'mean') continue;
      const row = op === 'prod' ? [2, 3, 0.5] : [1, 3, 2];
      expectClose(reduced(reduction, [...row, neutral, neutral, neutral], 3), EXPECTED[op](row));
    }
  });

  it('merges commute where the record says so', () => {
    for (const op of FLOAT_OPS) {
      const reduction = reductionOf({ op, dtype: 'float32', target });
      if (!reduction.commutes) continue;
      const [a, b] = [
        [1, 7, 7],
        [7, 0.3],
      ].map((row) => {
        const run = new ReductionRun(reduction);
        run.reset();
        row.forEach((x, i) => run.add(x, i));
        return { run, part: run.part(), count: row.length };
      }) as [{ run: ReductionRun; part: readonly number[]; count: number }, never];
      a.run.merge((b as typeof a).part, 2);
      (b as typeof a).run.merge(a.part, 3);
      expect(a.run.finish()).toEqual((b as typeof a).run.finish());
    }
  });
});

describe('int64 in 32 bits', () => {
  const reduction = reductionOf({ op: 'sum', dtype: 'int64', target: TARGETS.threads! });
  const LOST = -(2 ** 31);

  it('sums beyond 32 bits and back', () => {
    expect(reduced(reduction, [2 ** 31 - 1, 2 ** 31 - 1, -(2 ** 31 - 1), 5], 3)).toEqual(
      [2 ** 31 + 4].map(() => LOST),
    );
    expect(reduced(reduction, [2 ** 31 - 1, 2 ** 31 - 1, 1 - 2 ** 31, -10], 2)).toEqual([
      2 ** 31 - 11,
    ]);
    expect(reduced(reduction, [-5, 3, -7], 2)).toEqual([-9]);
  });

  it('loses a sum that does not fit and one of a lost value', () => {
    expect(reduced(reduction, [2 ** 31 - 1, 1], 1)).toEqual([LOST]);
    expect(reduced(reduction, [LOST, 4], 1)).toEqual([LOST]);
  });
});

describe('the text of a reduction', () => {
  it('names registers, steps, merge and results', () => {
    const text = printReduction(
      reductionOf({ op: 'argmax', dtype: 'int32', target: REFERENCE_TARGET }),
    );
    expect(text).toMatchInlineSnapshot(`
      "argmax(x: i32)
        state best: i32 = -2147483648, place: i32 = 0
        update:
          t0: bool = x > best
          t1: i32 = where(t0, x, best)
          t2: i32 = where(t0, at, place)
          best = t1
          place = t2
        merge:
          t0: bool = other.best > best
          t1: bool = other.place < place
          t2: bool = best > other.best
          t3: bool = not(t2)
          t4: bool = t1 & t3
          t5: bool = t0 | t4
          t6: i32 = where(t5, other.best, best)
          t7: i32 = where(t5, other.place, place)
          best = t6
          place = t7
        finish:
          t0: i64 = i64(place)
          result0 = t0"
    `);
  });

  it('shows how a long sum settles', () => {
    expect(
      printReduction(
        reductionOf({ op: 'sum', dtype: 'float32', target: TARGETS.vectors!, settles: true }),
      ),
    ).toMatchInlineSnapshot(`
      "sum(x: f32)
        state sum: f32 = 0, wide: f64 = 0
        update:
          t0: f32 = sum + x
          sum = t0
        settle after 32:
          t0: f64 = f64(sum)
          t1: f64 = wide + t0
          wide = t1
          sum = 0
        part wide: f64 = 0
        hand over:
          wide = wide
        merge:
          t0: f64 = wide + other.wide
          wide = t0
        finish:
          t0: f32 = f32(wide)
          result0 = t0"
    `);
  });
});

it('is made once for equal options', () => {
  const make = (dtype: DType): Reduction =>
    reductionOf({ op: 'sum', dtype, target: REFERENCE_TARGET });
  expect(make('float32')).toBe(make('float32'));
  expect(make('float32')).not.toBe(make('float64'));
});
