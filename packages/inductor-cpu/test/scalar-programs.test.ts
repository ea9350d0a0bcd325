/**
 * @file Vector code of the table's scalar functions computes what the interpreter computes, to the last bit.
 */
import {
  type ScalarOp,
  SCALAR_FUNCTIONS_64,
  functionProgram,
  runFunction,
} from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { WasmFunction } from '../src/emit/wasm-function.js';
import { VectorBuilder } from '../src/body/vector-builder.js';
import { emitFunction } from '../src/math/vector-program.js';
import { pointwise } from './support-kernels.js';

const COUNT = 4096;
const TARGET = { ieee: true, functions: SCALAR_FUNCTIONS_64 };

/** Bit patterns at regular distances, so that lanes hold anything beside anything. */
function samples(): number[] {
  const words = Uint32Array.from({ length: COUNT }, (_, i) => Math.imul(i, 1_048_583) >>> 0);
  const values = Array.from(new Float32Array(words.buffer));
  [0, -0, Infinity, -Infinity, NaN, 1, -1].forEach((value, i) => (values[17 * i] = value));
  return values;
}

const UNARY = [
  'exp',
  'exp2',
  'expm1',
  'log',
  'log2',
  'log1p',
  'sin',
  'cos',
  'tan',
  'asin',
  'acos',
  'atan',
  'sinh',
  'cosh',
  'tanh',
  'sigmoid',
  'erf',
  'sign',
] as const satisfies readonly ScalarOp[];
const BINARY = [
  'pow',
  'atan2',
  'fmod',
  'remainder',
  'floordiv',
  'copysign',
  'nextafter',
] as const satisfies readonly ScalarOp[];
const INTEGER = ['floordiv', 'truncdiv', 'remainder', 'fmod', 'pow', 'gcd', 'shl', 'shr'] as const;

describe('vector code of scalar programs', () => {
  for (const name of UNARY) {
    it(`${name} equals the interpreter bit by bit`, () => {
      const x = samples();
      const { run } = pointwise(COUNT, ['float32'], 'float32', (ir, [a]) => ir.op(name, [a]));
      const expected = x.map((value) => runFunction(name, [value], TARGET));
      run(x).forEach((got, i) => expect(got, `${name}(${x[i]})`).toBe(expected[i]));
    });
  }

  for (const name of BINARY) {
    it(`${name} equals the interpreter bit by bit, in f32 and f64`, () => {
      const x = samples();
      const y = x.map((_, i) => x[(i * 7919 + 13) % COUNT]!);
      for (const [dtype, suffix] of [
        ['float32', ''],
        ['float64', '_f64'],
      ] as const) {
        const { run } = pointwise(COUNT, [dtype, dtype], dtype, (ir, args) => ir.op(name, args));
        run(x, y).forEach((got, i) => {
          const expected = runFunction(`${name}${suffix}`, [x[i]!, y[i]!], TARGET);
          expect(got, `${name}${suffix}(${x[i]}, ${y[i]})`).toBe(expected);
        });
      }
    });
  }

  for (const name of INTEGER) {
    it(`${name} of integers equals the interpreter, and never traps`, () => {
      const edges = [0, 1, -1, 2, -2, 7, -7, 31, 32, 63, 64, 2 ** 31 - 1, -(2 ** 31)];
      const x = Array.from({ length: 256 }, (_, i) => edges[i % 13]!);
      const y = Array.from({ length: 256 }, (_, i) => edges[Math.floor(i / 13) % 13]!);
      for (const [dtype, suffix] of [
        ['int32', '_int'],
        ['int64', '_long'],
      ] as const) {
        const { run } = pointwise(256, [dtype, dtype], dtype, (ir, args) => ir.op(name, args));
        run(x, y).forEach((got, i) => {
          const expected = runFunction(`${name}${suffix}`, [x[i]!, y[i]!], TARGET);
          expect(got + 0, `${name}${suffix}(${x[i]}, ${y[i]})`).toBe(expected + 0);
        });
      }
    });
  }

  it('calls what is large or rare and writes the rest in place', () => {
    const called = (name: string): boolean => functionProgram(name, TARGET).called;
    expect(['log', 'log_sum', 'log_any', 'sin'].map(called)).toEqual([false, false, true, true]);
  });

  it('exists of the functions that the target names: kernel-missing', () => {
    const f = new WasmFunction('f', { x: 'v128' }, 'v128');
    const vb = new VectorBuilder(f, f.section(), { relaxedSimd: false });
    const x = [f.param<'v128'>('x')];
    expect(() => emitFunction(vb, 'gamma', [x])).toThrow(
      expect.objectContaining({ code: 'kernel-missing' }),
    );
  });
});
