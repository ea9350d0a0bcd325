/**
 * @file Values that are the same everywhere: constants and runtime scalars.
 */
import type { DType } from '@tessera/tensor';
import { op } from '../emit/code.js';
import type { Code } from '../emit/types.js';
import { convert } from './convert.js';
import { kindOf } from './element-kind.js';
import type { Value } from './value.js';
import type { Regs, VectorBuilder } from './vector-builder.js';

/** A constant of a dtype in all lanes. */
export function constantRegs(vb: VectorBuilder, dtype: DType, value: number): Regs {
  switch (kindOf(dtype)) {
    case 'f32':
      return vb.f32(value);
    case 'f64':
      return vb.f64(value);
    case 'i32':
      return vb.i32(value);
    case 'i64':
      // 2⁶³ is the double nearest to the largest int64.
      return vb.i64(value >= 2 ** 63 ? 2n ** 63n - 1n : BigInt(Math.trunc(value)));
    case 'bool':
      return vb.i32(value === 0 ? 0 : -1);
  }
}

/** A scalar argument, which callers pass as f64, in all lanes. */
export function scalarValue(vb: VectorBuilder, dtype: DType, number: () => Code<'f64'>): Value {
  const kind = kindOf(dtype);
  const uniform = (code: Code<'v128'>): Value => ({ kind, uniform: true, regs: [vb.let(code)] });
  const whole = (): Code<'i64'> => op('i64.trunc_sat_f64_s', number());
  switch (kind) {
    case 'f32':
      return uniform(op('f32x4.splat', op('f32.demote_f64', number())));
    case 'f64':
      return uniform(op('f64x2.splat', number()));
    case 'i64':
      return uniform(op('i64x2.splat', whole()));
    case 'i32':
      return uniform(op('i32x4.splat', op('i32.wrap_i64', whole())));
    case 'bool':
      return convert(vb, { ...uniform(op('f64x2.splat', number())), kind: 'f64' }, 'bool');
  }
}

/** A constant as a value. */
export function constantValue(vb: VectorBuilder, dtype: DType, value: number): Value {
  return { kind: kindOf(dtype), uniform: true, regs: constantRegs(vb, dtype, value) };
}
