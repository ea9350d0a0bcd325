/**
 * @file Vector code of the table's scalar functions computes what the interpreter computes, to the last bit.
 */
import { SCALAR_FUNCTIONS, functionProgram, runFunction } from '@tessera/inductor-core';
import { describe, expect, it } from 'vitest';
import { WasmFunction } from '../src/emit/wasm-function.js';
import { VectorBuilder } from '../src/body/vector-builder.js';
import { emitFunction } from '../src/math/emit-program.js';
import { pointwise } from './support-kernels.js';

const COUNT = 4096;
const TARGET = { ieee: true, functions: SCALAR_FUNCTIONS };

/** Bit patterns at regular distances, so that lanes hold anything beside anything. */
function samples(): number[] {
  const words = Uint32Array.from({ length: COUNT }, (_, i) => Math.imul(i, 1_048_583) >>> 0);
  const values = Array.from(new Float32Array(words.buffer));
  [0, -0, Infinity, -Infinity, NaN, 1, -1].forEach((value, i) => (values[17 * i] = value));
  return values;
}

describe('vector code of scalar programs', () => {
  for (const name of ['exp', 'sigmoid', 'tanh', 'erf', 'log'] as const) {
    it(`${name} equals the interpreter bit by bit`, () => {
      const x = samples();
      const { run } = pointwise(COUNT, ['float32'], 'float32', (ir, [a]) => ir.op(name, [a]));
      const expected = x.map((value) => runFunction(name, [value], TARGET));
      run(x).forEach((got, i) => expect(got, `${name}(${x[i]})`).toBe(expected[i]));
    });
  }

  it('calls what is rare and writes the rest in place', () => {
    const rare = (name: string): boolean => functionProgram(name, TARGET).rare;
    expect(['log', 'log_sum', 'log_any'].map(rare)).toEqual([false, false, true]);
  });

  it('exists of the functions that the target names: kernel-missing', () => {
    const f = new WasmFunction('f', { x: 'v128' }, 'v128');
    const vb = new VectorBuilder(f, f.section(), { relaxedSimd: false });
    const x = [f.param<'v128'>('x')];
    expect(() => emitFunction(vb, 'pow', x, x)).toThrow(
      expect.objectContaining({ code: 'kernel-missing' }),
    );
  });
});
