import { describe, expect, it } from 'vitest';
import {
  ShapeEnv,
  SizeProgram,
  compareNumbers,
  printSize,
  sizeAdd,
  sizeFloorDiv,
  sizeKnown,
  sizeMod,
  sizeSub,
} from '../src/index.js';
import type { RelationOp, Size, SymInt } from '../src/index.js';
import { RandomSource, testSeed } from './random-source.js';
import { DividedByZero, randomAffine, randomSize } from './random-size.js';
import type { RandomSize, Values } from './random-size.js';

const OPS: readonly RelationOp[] = ['==', '!=', '<', '<=', '>', '>='];
const NAMES = ['s0', 's1', 's2'];

interface Setting {
  readonly env: ShapeEnv;
  readonly symbols: readonly SymInt[];
  readonly ranges: readonly { lo: number; hi: number }[];
}

/** Three symbols: sizes without a limit, bounded sizes, sizes with 0 and 1, or signed integers. */
function randomSetting(random: RandomSource): Setting {
  const env = new ShapeEnv();
  const ranges = NAMES.map(() =>
    random.pick([
      { lo: 2, hi: Infinity },
      { lo: 2, hi: 12 },
      { lo: 0, hi: 6 },
      { lo: -5, hi: 7 },
    ]),
  );
  const symbols = ranges.map(({ lo, hi }, i) =>
    env.createSymbol(random.integer(lo, Math.min(hi, 20)), {
      source: `x.size(${i})`,
      min: lo,
      max: hi,
    }),
  );
  return { env, symbols, ranges };
}

function randomValues(random: RandomSource, { ranges }: Setting): Values {
  return ranges.map(({ lo, hi }) => random.integer(lo, Math.min(hi, 20)));
}

/** The value by brute force; undefined when it divides by zero or leaves the exact range. */
function bruteForce(expr: RandomSize, values: Values): number | undefined {
  try {
    const value = expr.compute(values);
    return Number.isSafeInteger(value) ? value + 0 : undefined;
  } catch (error) {
    if (error instanceof DividedByZero) return undefined;
    throw error;
  }
}

/** A size as a function of the symbols' values: its text, run. */
function textOf(size: Size): (values: Values) => number {
  const run = new Function(...NAMES, `return ${printSize(size)};`) as (...at: number[]) => number;
  return (values) => run(...values) + 0;
}

/** Whether values are in the symbols' ranges and satisfy every guard recorded so far. */
function admission({ env, ranges }: Setting): (values: Values) => boolean {
  const guards = env.guards.map(({ base, op, bound }) => ({ value: textOf(base), op, bound }));
  return (values) =>
    ranges.every(({ lo, hi }, i) => values[i]! >= lo && values[i]! <= hi) &&
    guards.every(({ value, op, bound }) => compareNumbers(value(values), op, bound));
}

/** Runs `check` for many random settings and names the seed and round of a failure. */
function forRandomRounds(rounds: number, check: (random: RandomSource) => void): void {
  const seed = testSeed();
  for (let round = 0; round < rounds; round++) {
    try {
      check(new RandomSource(seed + round * 7919));
    } catch (error) {
      throw new Error(`seed ${seed}, round ${round}`, { cause: error });
    }
  }
}

describe('random symbolic expressions', () => {
  it('have the value that brute force computes, as nodes and as generated code', () => {
    let compared = 0;
    forRandomRounds(1500, (random) => {
      const setting = randomSetting(random);
      const expr = randomSize(random, setting.symbols, 4);
      const program = new SizeProgram(setting.symbols);
      const slot = program.slot(expr.size);
      const text = textOf(expr.size);
      const admits = admission(setting);
      for (let i = 0; i < 12; i++) {
        const values = randomValues(random, setting);
        const expected = bruteForce(expr, values);
        if (expected === undefined || !admits(values)) continue;
        const where = `${printSize(expr.size)} at ${values.join()}`;
        expect(program.run(values)[slot]! + 0, where).toBe(expected);
        expect(text(values), where).toBe(expected);
        compared++;
      }
    });
    expect(compared).toBeGreaterThan(10_000);
  });

  it('are no number, and no error, where a program of many divides by zero', () => {
    const env = new ShapeEnv();
    const [a, b] = [9, 5].map((hint) => env.createSymbol(hint, { source: `s${hint}`, min: 2 }));
    const program = new SizeProgram([a!, b!]);
    const rest = sizeSub(b!, 4);
    const slots = [
      sizeFloorDiv(a!, rest),
      sizeMod(a!, rest),
      sizeAdd(sizeFloorDiv(a!, rest), 1),
      a!,
    ];
    const at = slots.map((size) => program.slot(size));
    const valuesOf = (values: number[]): number[] => at.map((slot) => program.run(values)[slot]!);
    expect(valuesOf([9, 6])).toEqual([4, 1, 5, 9]);
    expect(valuesOf([9, 4])).toEqual([NaN, NaN, NaN, 9]);
  });

  it('stay inside the interval that range analysis gives', () => {
    forRandomRounds(1000, (random) => {
      const setting = randomSetting(random);
      const expr = randomSize(random, setting.symbols, 4);
      const { lo, hi } = setting.env.rangeOf(expr.size);
      const admits = admission(setting);
      for (let i = 0; i < 12; i++) {
        const values = randomValues(random, setting);
        const value = bruteForce(expr, values);
        if (value === undefined || !admits(values)) continue;
        expect(value, printSize(expr.size)).toBeGreaterThanOrEqual(lo);
        expect(value, printSize(expr.size)).toBeLessThanOrEqual(hi);
      }
    });
  });

  it('keep their value and their answers under recorded guards', () => {
    let compared = 0;
    let decided = 0;
    forRandomRounds(1000, (random) => {
      const setting = randomSetting(random);
      const { env, symbols } = setting;
      for (let i = 0; i < 3; i++) {
        const left = random.pick([randomAffine, randomSize])(random, symbols, random.integer(0, 2));
        env.guard(left.size, random.pick(OPS), randomSize(random, symbols, 1).size);
      }
      const left = randomSize(random, symbols, 3);
      const right = randomSize(random, symbols, 2);
      const op = random.pick(OPS);
      const simplified = env.simplify(left.size);
      const known = sizeKnown(left.size, op, right.size);
      const range = env.rangeOf(left.size);
      const admits = admission(setting);
      const text = textOf(simplified);
      for (let i = 0; i < 60; i++) {
        const values = randomValues(random, setting);
        const value = bruteForce(left, values);
        const other = bruteForce(right, values);
        if (value === undefined || other === undefined || !admits(values)) continue;
        const where = `${printSize(left.size)} → ${printSize(simplified)} at ${values.join()} under ${env.guards.map(({ base, op, bound }) => `${String(base)} ${op} ${bound}`).join(', ')}`;
        expect(text(values), where).toBe(value);
        expect(value >= range.lo && value <= range.hi, where).toBe(true);
        if (known !== undefined) {
          expect(known, `${where}: ${op} ${printSize(right.size)}`).toBe(holds(value, op, other));
          decided++;
        }
        compared++;
      }
    });
    expect(compared).toBeGreaterThan(10_000);
    expect(decided).toBeGreaterThan(1000);
  });

  it('have guards that admit the sizes seen while capturing, and only sizes with the same answers', () => {
    let rejected = 0;
    forRandomRounds(800, (random) => {
      const setting = randomSetting(random);
      const { env, symbols } = setting;
      const answers = Array.from({ length: 4 }, () => {
        const left = random.pick([randomAffine, randomSize])(random, symbols, 2);
        const right = randomSize(random, symbols, 2);
        const op = random.pick(OPS);
        return { left, right, op, answer: env.guard(left.size, op, right.size) };
      });
      const admits = admission(setting);
      expect(admits(symbols.map(({ hint }) => hint))).toBe(true);
      for (let i = 0; i < 20; i++) {
        const values = randomValues(random, setting);
        const passes = admits(values);
        if (!passes) rejected++;
        // Whoever passes the guards gets the answers that were given while capturing.
        for (const { left, right, op, answer } of passes ? answers : []) {
          const [a, b] = [bruteForce(left, values), bruteForce(right, values)];
          if (a !== undefined && b !== undefined) {
            expect(
              holds(a, op, b),
              `${printSize(left.size)} ${op} ${printSize(right.size)} at ${values.join()}`,
            ).toBe(answer);
          }
        }
      }
    });
    expect(rejected).toBeGreaterThan(1000);
  });
});

function holds(a: number, op: RelationOp, b: number): boolean {
  return new Function('a', 'b', `return a ${op} b;`)(a, b) as boolean;
}
