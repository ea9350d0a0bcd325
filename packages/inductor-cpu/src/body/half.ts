/**
 * @file float16 and bfloat16: bit conversions to and from f32, four lanes at a time.
 *
 * Raw halves are the low 16 bits of i32 lanes; above them are copies of a float16's sign. Rounding is to nearest even, denormals are kept.
 */
import type { Regs, VectorBuilder } from './vector-builder.js';

/** float16 bits (sign-extended) → f32. */
export function halfToFloat(vb: VectorBuilder, raw: Regs): Regs {
  // A sign-extended half has its sign where f32 has it, whatever it is shifted by.
  const placed = vb.bin('v128.and', vb.shift('i32x4.shl', raw, 13), vb.i32(~0x70001fff));
  // Scaling by 2^112 moves the exponent bias and normalises denormals at once.
  const scaled = vb.mul(placed, vb.i32(0x77800000));
  // Infinities and NaN come out at 65536 or more, which no finite half reaches: they get all exponent bits.
  // Squares leave out the sign, and are in the range of f32 for every half.
  const special = vb.bin('f32x4.ge', vb.mul(scaled, scaled), vb.f32(2 ** 32));
  return vb.bin('v128.or', scaled, vb.bin('v128.and', special, vb.i32(0x7f800000)));
}

/** f32 → float16 bits, sign-extended. */
export function floatToHalf(vb: VectorBuilder, x: Regs): Regs {
  const all = vb.bin('v128.and', x, vb.i32(0x7fffffff));
  const sign = vb.shift('i32x4.shr_s', vb.bin('v128.xor', x, all), 16);
  // What is too large is 65536, which comes out as infinity; NaN stays.
  const magnitude = vb.bin('f32x4.pmin', all, vb.f32(2 ** 16));
  // A sum with a number 2^13 times the exponent's power rounds to 11 digits, and below 2^-14 to multiples of 2^-24.
  const power = vb.bin(
    'i32x4.max_s',
    vb.bin('v128.and', magnitude, vb.i32(0x7f800000)),
    vb.i32(0x38800000),
  );
  const large = vb.bin('i32x4.add', power, vb.i32(13 << 23));
  const rounded = vb.bin('f32x4.sub', vb.add(magnitude, large), large);
  // Times 2^-112 the exponent is a half's, and a denormal half is a denormal number with its digits in the same place.
  const bits = vb.shift('i32x4.shr_u', vb.mul(rounded, vb.i32(0x07800000)), 13);
  return vb.bin('v128.or', sign, vb.bin('i32x4.min_s', bits, vb.i32(0x7e00)));
}

/** bfloat16 bits → f32. */
export function bfloatToFloat(vb: VectorBuilder, raw: Regs): Regs {
  return vb.shift('i32x4.shl', raw, 16);
}

/** f32 → bfloat16 bits in the low half of each lane. */
export function floatToBfloat(vb: VectorBuilder, x: Regs): Regs {
  const odd = vb.bin('v128.and', vb.shift('i32x4.shr_u', x, 16), vb.i32(1));
  const rounded = vb.bin('i32x4.add', vb.bin('i32x4.add', x, vb.i32(0x7fff)), odd);
  // A NaN has all bits, as from PyTorch's vectors.
  const isNaN = vb.bin('f32x4.ne', x, x);
  return vb.shift('i32x4.shr_u', vb.bin('v128.or', rounded, isNaN), 16);
}
