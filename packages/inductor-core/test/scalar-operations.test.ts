/**
 * @file Every operation of the loop IR has a scalar program for every type that it takes, which does what the IR says.
 */
import type { DType } from '@tessera/tensor';
import { describe, expect, it } from 'vitest';
import type { ScalarOp } from '../src/ir/expr.js';
import { castScalar, evalScalar, isFloat } from '../src/ir/scalar-eval.js';
import { FLOAT_OPS, INTEGER_OPS, SCALAR_ARITY } from '../src/ir/scalar-ops.js';
import { functionProgram } from '../src/schedule/functions/function-table.js';
import { OPERATIONS, OPERATIONS_64, rowOf } from '../src/schedule/functions/operations.js';
import type { FunctionTarget } from '../src/schedule/functions/program.js';
import { runFunction } from '../src/schedule/functions/run-function.js';
import { SCALAR_FUNCTIONS } from '../src/schedule/functions/scalar-functions.js';
import { SCALAR_FUNCTIONS_64 } from '../src/schedule/functions/scalar-functions-64.js';
import { castValue, namedValue, valueType } from '../src/schedule/functions/scalar-values.js';
import { spellExpr } from '../src/schedule/functions/spell-program.js';

const WIDE: FunctionTarget = {
  ieee: true,
  functions: { ...OPERATIONS, ...OPERATIONS_64, ...SCALAR_FUNCTIONS, ...SCALAR_FUNCTIONS_64 },
};
const GUARDED: FunctionTarget = {
  ieee: false,
  functions: { ...OPERATIONS, ...SCALAR_FUNCTIONS },
};

const FLOATS = [0, -0, 1, -1, 0.5, -2.5, 3.5, 2 ** -10, 100, Infinity, -Infinity, NaN];
const SAMPLES: Readonly<Partial<Record<DType, readonly number[]>>> = {
  float32: FLOATS,
  float64: FLOATS,
  int32: [0, 1, -1, 7, -7, 31, 2 ** 31 - 1, 1 - 2 ** 31],
  int64: [0, 1, -1, 7, -7, 2 ** 40, -(2 ** 40), 2 ** 52],
  bool: [0, 1],
};

/** Operations that a type has, but for conversions. */
function opsOf(dtype: DType): ScalarOp[] {
  const isBool = dtype === 'bool';
  return (Object.keys(SCALAR_ARITY) as ScalarOp[]).filter((op) => {
    if (op === 'cast' || (op === 'within' && (isFloat(dtype) || isBool))) return false;
    if (isBool) return rowOf(op, 'bool') in OPERATIONS;
    return !(isFloat(dtype) ? INTEGER_OPS : FLOAT_OPS).has(op);
  });
}

/** Fused or not, and by polynomials or not, results are close. */
function isClose(got: number, want: number): boolean {
  return Object.is(got + 0, want + 0) || Math.abs(got - want) <= 2e-6 * Math.abs(want);
}

function check(op: ScalarOp, dtype: DType, target: FunctionTarget): void {
  const samples = SAMPLES[dtype]!;
  const name = rowOf(op, valueType(dtype));
  const { result } = functionProgram(name, target);
  const first = op === 'where' ? SAMPLES.bool! : samples;
  const [seconds, thirds] = [2, 3].map((n) => (SCALAR_ARITY[op] >= n ? samples : [0]));
  for (const a of first)
    for (const b of seconds!)
      for (const c of thirds!) {
        const args = [a, b, c].slice(0, SCALAR_ARITY[op]);
        const want = evalScalar(op, result === 'bool' ? 'bool' : dtype, dtype, a, b, c);
        // Numbers do not hold what the IR means there.
        if (dtype === 'int64' && !(Number.isSafeInteger(want) && (op !== 'pow' || b < 8))) continue;
        const got = runFunction(name, args, target);
        if (!isClose(got, want)) expect(`${name}(${args.join()}) = ${got}`).toBe(want);
      }
}

describe('operations as scalar programs', () => {
  for (const dtype of ['float32', 'float64', 'int32', 'int64', 'bool'] as const)
    it.each(opsOf(dtype))(`%s of ${dtype} is what the IR says`, (op) => {
      check(op, dtype, WIDE);
      if (dtype === 'float32' || dtype === 'int32' || dtype === 'bool') check(op, dtype, GUARDED);
    });

  it('conversions truncate, wrap and round', () => {
    const text = (from: DType, to: DType): string =>
      spellExpr(castValue(namedValue(from, 'x'), from, to), {
        header: () => '',
        define: () => '',
        array: () => '',
        number: (expr) => expr.text,
        builtin: ({ name }, args) => `${name}(${args.join(', ')})`,
        convert: ({ type }, arg) => `${type}(${arg})`,
        bitcast: ({ type }, arg) => `bits_${type}(${arg})`,
        callee: (name) => name,
      });
    expect(text('int32', 'int16')).toBe('(x << 16u) >> 16u');
    expect(text('float32', 'uint8')).toBe('i32(x) & 255');
    expect(text('float64', 'bfloat16')).toBe('round_bf16(f32(x))');
    expect(text('int64', 'bool')).toBe('x != 0');
    expect(text('float32', 'bool')).toBe('truth(x)');
    expect(text('bool', 'int64')).toBe('i64(x)');
    expect(text('int8', 'int32')).toBe('x');
    expect(castScalar(300.7, 'float32', 'uint8')).toBe(44);
  });
});
