/**
 * @file Conversions between element kinds, and wrapping of integers to a narrower dtype.
 *
 * WebAssembly has vector conversions between all pairs but int64 and floats; those go lane by lane.
 */
import type { DType } from '@tessera/tensor';
import { lane, op, shuffle32 } from '../emit/code.js';
import type { Code } from '../emit/types.js';
import { kindOf, type ElementKind } from './element-kind.js';
import { bfloatToFloat, floatToBfloat, floatToHalf, halfToFloat } from './half.js';
import { boolValue, joinRegs, narrowRegs, widenRegs, type Value } from './value.js';
import type { Reg, Regs, VectorBuilder } from './vector-builder.js';

/** The same number in another kind: floats truncate towards zero, and become the least integer where they have none; `bool` is x != 0. */
export function convert(vb: VectorBuilder, value: Value, to: ElementKind): Value {
  return value.kind === to ? value : converted(vb, value, to);
}

function converted(vb: VectorBuilder, value: Value, to: ElementKind): Value {
  const { kind: from, uniform, regs } = value;
  const result = (made: Regs): Value => ({ kind: to, uniform, regs: made });
  const upper = (x: Reg): Code<'v128'> => shuffle32([2, 3, 2, 3], x, x);
  if (to === 'bool') return nonZero(vb, value);
  switch (from) {
    case 'bool':
      if (to === 'f32') return result(vb.bin('v128.and', regs, vb.f32(1)));
      if (to === 'i32') return result(vb.bin('v128.and', regs, vb.i32(1)));
      return convert(vb, convert(vb, value, to === 'f64' ? 'f32' : 'i32'), to);
    case 'i32':
      if (to === 'f32') return result(vb.un('f32x4.convert_i32x4_s', regs));
      if (to === 'f64')
        return result(
          widenRegs(
            vb,
            value,
            (x) => op('f64x2.convert_low_i32x4_s', x),
            (x) => op('f64x2.convert_low_i32x4_s', upper(x)),
          ),
        );
      return result(
        widenRegs(
          vb,
          value,
          (x) => op('i64x2.extend_low_i32x4_s', x),
          (x) => op('i64x2.extend_high_i32x4_s', x),
        ),
      );
    case 'f32':
      if (to === 'i32')
        return result(
          vb.un(
            'i32x4.trunc_sat_f32x4_s',
            vb.select(vb.bin('f32x4.lt', regs, vb.f32(2 ** 31)), regs, vb.f32(-(2 ** 31))),
          ),
        );
      if (to === 'f64')
        return result(
          widenRegs(
            vb,
            value,
            (x) => op('f64x2.promote_low_f32x4', x),
            (x) => op('f64x2.promote_low_f32x4', upper(x)),
          ),
        );
      return convert(vb, convert(vb, value, 'f64'), 'i64');
    case 'f64':
      if (to === 'f32')
        return result(
          joinRegs(vb, { ...value, regs: vb.un('f32x4.demote_f64x2_zero', regs) }, [0, 1, 4, 5]),
        );
      if (to === 'i32')
        return result(
          joinRegs(
            vb,
            { ...value, regs: vb.un('i32x4.trunc_sat_f64x2_s_zero', withinInt32(vb, regs)) },
            [0, 1, 4, 5],
          ),
        );
      return result(
        vb.map([withinInt64(vb, regs)], (x) =>
          pair64((k) => op('i64.trunc_sat_f64_s', lane('f64x2.extract_lane', k, x))),
        ),
      );
    case 'i64':
      if (to === 'i32') return result(narrowRegs(vb, value));
      if (to === 'f64')
        return result(
          vb.map([regs], (x) =>
            pairF64((k) => op('f64.convert_i64_s', lane('i64x2.extract_lane', k, x))),
          ),
        );
      // Directly, because rounding twice (through f64) is not rounding once.
      return result(
        joinRegs(
          vb,
          {
            ...value,
            regs: vb.map([regs], (x) =>
              pairF32((k) => op('f32.convert_i64_s', lane('i64x2.extract_lane', k, x))),
            ),
          },
          [0, 1, 4, 5],
        ),
      );
  }
}

/** Doubles that an int32 can hold when truncated; the others, and NaN, as the least of them. */
function withinInt32(vb: VectorBuilder, regs: Regs): Regs {
  const fits = vb.bin(
    'v128.and',
    vb.bin('f64x2.gt', regs, vb.f64(-(2 ** 31) - 1)),
    vb.bin('f64x2.lt', regs, vb.f64(2 ** 31)),
  );
  return vb.select(fits, regs, vb.f64(-(2 ** 31)));
}

/** The same for int64, whose least number is what smaller ones saturate to. */
function withinInt64(vb: VectorBuilder, regs: Regs): Regs {
  return vb.select(vb.bin('f64x2.lt', regs, vb.f64(2 ** 63)), regs, vb.f64(-(2 ** 63)));
}

function pair64(make: (k: number) => Code<'i64'>): Code<'v128'> {
  return lane('i64x2.replace_lane', 1, op('i64x2.splat', make(0)), make(1));
}

function pairF64(make: (k: number) => Code<'f64'>): Code<'v128'> {
  return lane('f64x2.replace_lane', 1, op('f64x2.splat', make(0)), make(1));
}

function pairF32(make: (k: number) => Code<'f32'>): Code<'v128'> {
  return lane('f32x4.replace_lane', 1, op('f32x4.splat', make(0)), make(1));
}

/** x != 0; NaN is true. */
function nonZero(vb: VectorBuilder, value: Value): Value {
  const { kind, uniform, regs } = value;
  const zero = vb.i32(0);
  const compare = {
    f32: 'f32x4.ne',
    f64: 'f64x2.ne',
    i32: 'i32x4.ne',
    i64: 'i64x2.ne',
    bool: 'i32x4.ne',
  } as const;
  return boolValue(vb, kind, uniform, vb.bin(compare[kind], regs, zero));
}

/** `cast` of the IR: converts and brings the result into the range and precision of `to`. */
export function castTo(vb: VectorBuilder, value: Value, to: DType): Value {
  const converted = wrapTo(vb, convert(vb, value, kindOf(to)), to);
  return value.kind === 'bool' ? converted : rounded(vb, converted, to);
}

/** Floats rounded to 16 bits, still held in 32. */
function rounded(vb: VectorBuilder, value: Value, to: DType): Value {
  if (to === 'float16') return { ...value, regs: halfToFloat(vb, floatToHalf(vb, value.regs)) };
  if (to === 'bfloat16')
    return { ...value, regs: bfloatToFloat(vb, floatToBfloat(vb, value.regs)) };
  return value;
}

/** Wraps integers to 8 or 16 bits; other values are in range already. */
export function wrapTo(vb: VectorBuilder, value: Value, to: DType): Value {
  const { regs } = value;
  switch (to) {
    case 'uint8':
      return { ...value, regs: vb.bin('v128.and', regs, vb.i32(0xff)) };
    case 'int8':
      return { ...value, regs: vb.shift('i32x4.shr_s', vb.shift('i32x4.shl', regs, 24), 24) };
    case 'int16':
      return { ...value, regs: vb.shift('i32x4.shr_s', vb.shift('i32x4.shl', regs, 16), 16) };
    default:
      return value;
  }
}
