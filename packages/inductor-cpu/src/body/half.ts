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
  const sign = vb.shift('i32x4.shr_s', vb.bin('v128.and', x, vb.i32(-0x80000000)), 16);
  // What is too large is 65536, which comes out as infinity.
  const magnitude = vb.bin(
    'i32x4.min_s',
    vb.bin('v128.and', x, vb.i32(0x7fffffff)),
    vb.i32(0x47800000),
  );
  // A sum with a number 2^13 times the exponent's power rounds to 11 digits, and below 2^-14 to multiples of 2^-24.
  const power = vb.bin(
    'i32x4.max_s',
    vb.bin('v128.and', magnitude, vb.i32(0x7f800000)),
    vb.i32(0x38800000),
  );
  const large = vb.bin('i32x4.add', power, vb.i32(13 << 23));
  const digits = vb.bin('i32x4.sub', vb.add(magnitude, large), large);
  const exponent = vb.bin('i32x4.sub', vb.shift('i32x4.shr_u', power, 13), vb.i32(0x1c400));
  const quiet = vb.bin('v128.and', vb.bin('f32x4.ne', x, x), vb.i32(0x200));
  return vb.bin('v128.or', vb.bin('v128.or', sign, quiet), vb.bin('i32x4.add', digits, exponent));
}

/** bfloat16 bits → f32. */
export function bfloatToFloat(vb: VectorBuilder, raw: Regs): Regs {
  return vb.shift('i32x4.shl', raw, 16);
}

/** f32 → bfloat16 bits in the low half of each lane. */
export function floatToBfloat(vb: VectorBuilder, x: Regs): Regs {
  const odd = vb.bin('v128.and', vb.shift('i32x4.shr_u', x, 16), vb.i32(1));
  const rounded = vb.bin('i32x4.add', vb.bin('i32x4.add', x, vb.i32(0x7fff)), odd);
  return vb.shift(
    'i32x4.shr_u',
    vb.select(vb.bin('f32x4.eq', x, x), rounded, vb.i32(0x7fc00000)),
    16,
  );
}
