/**
 * @file Errors of every scalar function of the table over the whole range of f32, run in the interpreter.
 *
 * Arguments are bit patterns at regular distances (so all exponents, both signs, denormals, infinities and NaN) and a
 * dense sample around zero. References are JavaScript's f64 `Math`, or exact definitions.
 */
import { describe, expect, it } from 'vitest';
import { erf, philoxNormal, philoxUniform } from '@tessera/tensor/internal';
import { evalScalar, roundToHalf } from '../src/ir/scalar-eval.js';
import type { ScalarOp } from '../src/ir/expr.js';
import { SCALAR_ARITY } from '../src/ir/scalar-ops.js';
import { functionProgram } from '../src/schedule/functions/function-table.js';
import { SCALAR_FUNCTIONS } from '../src/schedule/functions/scalar-functions.js';
import { SCALAR_FUNCTIONS_64 } from '../src/schedule/functions/scalar-functions-64.js';
import { parseProgram } from '../src/schedule/functions/parse-program.js';
import { printProgram } from '../src/schedule/functions/print-program.js';
import type { FunctionTarget } from '../src/schedule/functions/program.js';
import { runFunction } from '../src/schedule/functions/run-function.js';

const TARGETS: readonly FunctionTarget[] = [
  { ieee: true, functions: SCALAR_FUNCTIONS },
  { ieee: false, functions: SCALAR_FUNCTIONS },
];
/** Such as WebAssembly. */
const WIDE: FunctionTarget = { ieee: true, functions: SCALAR_FUNCTIONS_64 };

const view = new DataView(new ArrayBuffer(4));
function fromBits(pattern: number): number {
  view.setUint32(0, pattern);
  return view.getFloat32(0);
}

/** Numbers of all magnitudes, then `dense` ones in [-8, 8]. */
function samples(step: number, dense: number): number[] {
  const values: number[] = [0, -0, 1, -1, Infinity, -Infinity, NaN];
  for (let pattern = 0; pattern < 2 ** 32; pattern += step) values.push(fromBits(pattern));
  for (let i = 0; i < dense; i++) values.push(Math.fround(-8 + (16 * (i + 0.37)) / dense));
  return values;
}

/** Distance of neighbouring numbers at x. */
function ulp(x: number): number {
  const exponent = x === 0 ? -126 : Math.max(-126, Math.floor(Math.log2(Math.abs(x))));
  return 2 ** (Math.min(exponent, 127) - 23);
}

function errorOf(got: number, exact: number): number {
  const rounded = Math.fround(exact);
  if (Number.isNaN(rounded) || Number.isNaN(got))
    return Number.isNaN(rounded) === Number.isNaN(got) ? 0 : Infinity;
  if (got === rounded) return 0;
  // Either side of the overflow threshold counts as one step.
  if (!Number.isFinite(got) || !Number.isFinite(rounded))
    return Math.min(Math.abs(got), Math.abs(exact)) >= 3.4028232e38 ? 1 : Infinity;
  return Math.abs(got - exact) / ulp(exact);
}

const powerOf = (x: number, y: number): number =>
  x === 1 || y === 0 || (x === -1 && Math.abs(y) === Infinity) ? 1 : x ** y;
/** What the IR defines for an operation on f32. */
const defined =
  (op: ScalarOp): Reference =>
  (x, y) =>
    evalScalar(op, 'float32', 'float32', x, y, 0);

type Reference = (x: number, y: number) => number;

const REFERENCES: Readonly<Record<string, Reference>> = {
  exp: Math.exp,
  exp2: (x) => 2 ** x,
  expm1: Math.expm1,
  log: Math.log,
  log2: Math.log2,
  log1p: Math.log1p,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  sigmoid: (x) => (x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x))),
  erf,
  pow: powerOf,
  atan2: Math.atan2,
  fmod: defined('fmod'),
  remainder: defined('remainder'),
  floordiv: defined('floordiv'),
  sign: defined('sign'),
  copysign: defined('copysign'),
  nextafter: defined('nextafter'),
  max: defined('maximum'),
  min: defined('minimum'),
  round_f16: (x) => roundToHalf(x, 'float16'),
  round_bf16: (x) => roundToHalf(x, 'bfloat16'),
  is_nan: (x) => Number(Number.isNaN(x)),
  is_inf: (x) => Number(Math.abs(x) === Infinity),
  truth: (x) => Number(x !== 0),
};

/** Cases that say nothing: subnormal results of some functions, the sign of a NaN. */
function isIrrelevant(name: string, y: number, exact: number): boolean {
  if (name === 'copysign') return Number.isNaN(y);
  return (name === 'sigmoid' || name === 'atan2') && Math.abs(exact) < 2 ** -126;
}

const ALL = [
  { target: TARGETS[0]!, on: 'IEEE arithmetic' },
  { target: TARGETS[1]!, on: 'arithmetic that knows no NaN' },
  { target: WIDE, on: 'arithmetic of 64 bits too' },
];

describe.each(ALL)('scalar functions on $on', ({ target }) => {
  for (const [name, reference] of Object.entries(REFERENCES)) {
    if (target.functions[name] === undefined) continue;
    const bound = target.functions[name].ulp ?? 0;
    it(`${name} is within ${bound} ulp over all of f32`, () => {
      const unary = functionProgram(name, target).params.length === 1;
      const x = samples(unary ? 1_500_007 : 8_000_009, unary ? 2000 : 500);
      let worst = { error: 0, at: '' };
      for (const [i, a] of x.entries()) {
        const b = x[(i * 7919 + 13) % x.length]!;
        const [got, exact] = [runFunction(name, unary ? [a] : [a, b], target), reference(a, b)];
        if (isIrrelevant(name, b, exact)) continue;
        const error = errorOf(got, exact);
        if (error > worst.error) worst = { error, at: `${name}(${a}, ${b}) = ${got}` };
      }
      expect(worst.error, worst.at).toBeLessThanOrEqual(bound);
    });
  }

  it('integers divide as PyTorch does, and by zero give zero', () => {
    for (const a of [7, -7, 0, 6, -6, 2 ** 31 - 1]) {
      for (const b of [2, -2, 3, -3, 0, 1]) {
        const run = (name: string): number => runFunction(name, [a, b], target);
        expect(run('floordiv_int')).toBe(b === 0 ? 0 : Math.floor(a / b) + 0);
        expect(run('truncdiv_int')).toBe(b === 0 ? 0 : Math.trunc(a / b) + 0);
        if (b === 0) continue;
        expect(run('fmod_int') + 0).toBe((a % b) + 0);
        expect(run('remainder_int') + 0).toBe(a - b * Math.floor(a / b) + 0);
      }
    }
    expect(runFunction('pow_int', [-3, 5], target)).toBe(-243);
    expect(runFunction('pow_int', [-1, -3], target)).toBe(-1);
    expect(runFunction('gcd_int', [-1071, 462], target)).toBe(21);
    expect(runFunction('shl_int', [5, 32], target)).toBe(0);
    expect(runFunction('shr_int', [-5, -1], target)).toBe(-1);
  });
});

describe('functions of 64 bits', () => {
  const run = (name: string, ...args: number[]): number => runFunction(name, args, WIDE);
  const values = [0, -0, 1, -1, 0.3, -2.75, 1e-310, -5e300, Infinity, -Infinity, NaN, 1.1, 7, -7.5];

  it('are those of the IR on float64', () => {
    const rows = Object.entries(WIDE.functions).filter(
      ([name, { ulp }]) => name.endsWith('_f64') && ulp !== undefined,
    );
    expect(rows).toHaveLength(25);
    for (const [name, { ulp }] of rows) {
      const op = name.slice(0, -4) as ScalarOp;
      for (const a of values) {
        for (const b of values) {
          if (op === 'copysign' && Number.isNaN(b)) continue;
          const exact = evalScalar(op, 'float64', 'float64', a, b, 0);
          const got = run(name, ...[a, b].slice(0, SCALAR_ARITY[op]));
          const what = `${name}(${a}, ${b}) = ${got}, not ${exact}`;
          if (op === 'erf' && !Number.isNaN(a)) expect(got, what).toBeCloseTo(exact, 14);
          // The reference is one unit off itself.
          else if (ulp! > 0 && Number.isFinite(exact) && exact !== 0)
            expect(Math.abs(got / exact - 1), what).toBeLessThanOrEqual((ulp! + 1) * 2 ** -52);
          else expect(Object.is(got + 0, exact + 0), what).toBe(true);
        }
      }
    }
  });

  /** Numbers of all magnitudes and both signs, most of them around 1. */
  function doubles(count: number): number[] {
    let state = 1;
    const next = (): number => (state = (state * 48271) % 2147483647) / 2147483647;
    return Array.from({ length: count }, (_, i) => {
      const exponent = (next() - 0.5) * (i % 5 === 0 ? 2000 : i % 2 === 0 ? 18 : 4);
      return (next() < 0.4 ? -1 : 1) * 2 ** exponent * (1 + next());
    });
  }

  it.each([
    ['exp2', (x: number) => 2 ** x],
    ['expm1', Math.expm1],
    ['log2', Math.log2],
    ['log1p', Math.log1p],
    ['sin', Math.sin],
    ['cos', Math.cos],
    ['tan', Math.tan],
    ['asin', Math.asin],
    ['acos', Math.acos],
    ['atan', Math.atan],
    ['sinh', Math.sinh],
    ['cosh', Math.cosh],
    ['tanh', Math.tanh],
  ] as const)(
    '%s_f64 is as far from the exact number as it says, over all magnitudes',
    (op, reference) => {
      const bound = (WIDE.functions[`${op}_f64`]!.ulp! + 1) * 2 ** -52;
      for (const x of doubles(4000)) {
        const [got, exact] = [run(`${op}_f64`, x), reference(x)];
        if (Number.isFinite(exact) && Math.abs(exact) > 1e-300)
          expect(Math.abs(got / exact - 1), `${op}(${x})`).toBeLessThanOrEqual(bound);
        else expect(Math.abs(got - exact) || 0, `${op}(${x})`).toBeLessThan(1e-300);
      }
    },
  );

  it('powers are within an ulp of the exact number, and exact where that is a number', () => {
    const bases = doubles(4000);
    for (const [i, exponent] of doubles(4000).entries()) {
      const x = Math.abs(bases[i]!);
      const [got, exact] = [run('pow_f64', x, exponent), x ** exponent];
      if (Number.isFinite(exact) && exact > 1e-300)
        expect(Math.abs(got / exact - 1), `${x} ** ${exponent}`).toBeLessThanOrEqual(2 ** -51);
      else expect(Math.abs(got - exact) || 0, `${x} ** ${exponent}`).toBeLessThan(1e-300);
    }
    for (let x = -9; x <= 9; x++)
      for (let y = 0; y <= 15; y++)
        expect(run('pow_f64', x, y)).toBe(Number(BigInt(x) ** BigInt(y)));
    expect(run('pow_f64', 2, -1074)).toBe(5e-324);
    expect(run('pow_f64', 1 + 2 ** -52, 1e300)).toBe(Infinity);
  });

  it('remainders are exact for every quotient', () => {
    const divisors = doubles(2000);
    for (const [i, x] of doubles(2000).entries()) {
      const y = i % 2 === 0 ? divisors[i]! : x / (1 + (i * 67_108_864) / 1500);
      expect(run('fmod_f64', x, y), `${x} % ${y}`).toBe(x % y);
    }
  });

  const ONE = 2n ** 200n;
  /** 2²⁰⁰ exp(x), by its series of x / 2¹² squared twelve times. */
  const exact = (x: bigint): bigint => {
    let [sum, term] = [ONE, ONE];
    for (let k = 1n; term !== 0n; k++) {
      term = (term * x) / (k * ONE * 4096n);
      sum += term;
    }
    for (let k = 0; k < 12; k++) sum = (sum * sum) / ONE;
    return sum;
  };
  const fixed = (x: number): bigint => BigInt(x * 2 ** 140) * 2n ** 60n;

  it('exponentials and logarithms are within 1 ulp', () => {
    let worst = 0;
    for (let i = 0; i < 4000; i++) {
      // As many near 0 as far away, with few digits so that they are exact here.
      const x = Math.round(((i * 7919) % 4000) - 2000) * 2 ** -(i % 13) * 0.01;
      const y = run('exp_f64', x);
      const whole = exact(fixed(x));
      const ulp = 2 ** (Math.floor(Math.log2(y)) - 52);
      worst = Math.max(worst, Math.abs(Number(whole - fixed(y)) / 2 ** 200 / ulp));
      // log(y + d) = log y + d / y: what is left of y after exp(log y), against the last digit of the logarithm.
      const log = run('log_f64', y);
      if (log === 0) continue;
      const left = Number(fixed(y) - exact(fixed(log))) / 2 ** 200 / y;
      worst = Math.max(worst, Math.abs(left) / 2 ** (Math.floor(Math.log2(Math.abs(log))) - 52));
    }
    expect(worst).toBeGreaterThan(0.5);
    expect(worst).toBeLessThan(1);
    // Subnormal results and arguments, and the ends of the range.
    for (const x of [-708.5, -730, -744.4, -745.1, -745.2, -746, -1e300, 709.78, 709.79, 1e-320])
      expect(Math.abs(run('exp_f64', x) - Math.exp(x)) || 0).toBeLessThanOrEqual(
        x > 0 ? 2 ** 971 : 2 ** -1074,
      );
    expect([710, 1e9].map((x) => run('exp_f64', x))).toEqual([Infinity, Infinity]);
    for (const x of [5e-324, 1e-310, 2 ** -1022, 1 - 2 ** -53, 1 + 2 ** -52, 1.7e308])
      expect(Math.abs(run('log_f64', x) / Math.log(x) - 1)).toBeLessThanOrEqual(2 ** -52);
  });

  it('divide, shift and raise integers as the IR does', () => {
    for (const name of ['floordiv', 'truncdiv', 'fmod', 'remainder', 'pow', 'gcd', 'shl', 'shr']) {
      for (const a of [7, -7, 0, 1, -1, 2 ** 40 + 3, -(2 ** 40)]) {
        for (const b of [2, -2, 0, 1, -1, 3, 70]) {
          const exact = evalScalar(name as ScalarOp, 'int64', 'int64', a, b, 0);
          if (Math.abs(exact) > 2 ** 53) continue;
          expect(run(`${name}_long`, a, b) + 0, `${name}(${a}, ${b})`).toBe(exact + 0);
        }
      }
    }
  });
});

describe('random numbers', () => {
  it('are those of eager tensors', () => {
    for (let i = 0; i < 500; i++) {
      const [seed, offset, index] = [i * 77_777_777, i >> 3, Math.imul(i, 0x9e3779b9) >>> 0];
      const drawn = (name: string): number =>
        runFunction(name, [seed >>> 0, offset, index], TARGETS[0]!);
      expect(drawn('uniform')).toBe(philoxUniform(seed >>> 0, offset, index));
      expect(drawn('normal')).toBeCloseTo(philoxNormal(seed >>> 0, offset, index), 5);
    }
  });
});

describe('programs', () => {
  it('print as they are read', () => {
    for (const target of [...TARGETS, WIDE]) {
      for (const name of Object.keys(target.functions)) {
        const text = printProgram(functionProgram(name, target));
        const again = parseProgram(text, (callee) => functionProgram(callee, target).result);
        expect(printProgram(again)).toBe(text);
      }
    }
  });

  it('know which of them branch by value', () => {
    const uniform = (name: string): boolean => functionProgram(name, TARGETS[1]!).uniform;
    expect(['exp', 'sin', 'erf', 'round_f16'].map(uniform)).toEqual([true, true, true, true]);
    expect(['pow', 'fmod', 'gcd_int', 'normal'].map(uniform)).toEqual([false, false, false, false]);
  });

  it('that do not parse are refused', () => {
    const parse = (text: string) => () => parseProgram(text, () => 'f32');
    expect(parse('fn f(x: f32) -> f32 { return x }')).toThrow(/';' expected/);
    expect(parse('fn f(x: f32) -> f32 { return x # 1; }')).toThrow(/is no word/);
  });

  it('are of functions that exist', () => {
    expect(() => functionProgram('gamma', TARGETS[0]!)).toThrow(/no scalar function 'gamma'/);
  });
});
