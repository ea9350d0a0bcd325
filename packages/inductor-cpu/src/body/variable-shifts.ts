/**
 * @file Shifts of 32-bit lanes by counts of their own: instructions shift all lanes by one count, so these multiply.
 *
 * Counts outside of 0 to 31 leave nothing but the sign, as in inductor-core's table.
 */
import type { Operator } from './operator.js';
import type { Regs, VectorBuilder } from './vector-builder.js';

/** 2ⁿ for n from 0 to 31: a float's exponent, as an unsigned integer. */
function powerOfTwo(vb: VectorBuilder, n: Regs): Regs {
  const exponent = vb.shift('i32x4.shl', vb.bin('i32x4.add', n, vb.i32(127)), 23);
  return vb.un('i32x4.trunc_sat_f32x4_u', exponent);
}

/** x · 2ⁿ where n is 0 to 31, else 0. */
export const shiftLeft: Operator = (vb, [a, b]) => {
  const [x, n] = [a.regs, b.regs];
  const isCount = vb.bin('i32x4.le_u', n, vb.i32(31));
  const shifted = vb.bin('i32x4.mul', x, powerOfTwo(vb, vb.bin('v128.and', n, vb.i32(31))));
  return vb.bin('v128.and', shifted, isCount);
};

/** Bits 31 and up of the products of 32-bit lanes, of which the right ones are positive. */
function highParts(vb: VectorBuilder, x: Regs, y: Regs): Regs {
  const half = (name: 'i64x2.extmul_low_i32x4_s' | 'i64x2.extmul_high_i32x4_s'): Regs =>
    vb.shift('i64x2.shr_u', vb.bin(name, x, y), 31);
  const [low, high] = [half('i64x2.extmul_low_i32x4_s'), half('i64x2.extmul_high_i32x4_s')];
  return vb.shuffle([0, 2, 4, 6], low, high);
}

/** The floor of x / 2ⁿ, n being at most 31 and, where it is negative, 31. */
export const shiftRight: Operator = (vb, [a, b]) => {
  const [x, n] = [a.regs, vb.bin('i32x4.min_u', b.regs, vb.i32(31))];
  // 2³¹ is no positive number of 32 bits: a shift by nothing is the value.
  const scaled = highParts(vb, x, powerOfTwo(vb, vb.bin('i32x4.sub', vb.i32(31), n)));
  return vb.select(vb.bin('i32x4.eq', n, vb.i32(0)), x, scaled);
};
