/**
 * @file Vector exp, sigmoid, tanh and erf of f32: inline code for kernels' inner loops.
 *
 * All start from x = n·ln 2 + r with |r| ≤ ln 2 / 2, n rounded by adding 1.5·2²³ (the integer then
 * stands in the low mantissa bits, ready to be shifted into an exponent), ln 2 split in two so that r
 * is exact, and eʳ by a polynomial. Errors are at most 2 ulp over all inputs, denormal results,
 * infinities and NaN included; `test/math.test.ts` measures them. Polynomials are minimax fits; erf is
 * Norbert Juffa's approximation.
 */
import type { Regs, VectorBuilder } from '../body/vector-builder.js';

const LOG2_E = Math.LOG2E;
/** ln 2 in two parts; n · LN2_HIGH is exact for |n| < 2¹⁵. */
const LN2_HIGH = 0.693359375;
const LN2_LOW = -2.1219444e-4;
/** Adding 1.5·2²³ rounds to an integer and leaves it in the low bits. */
const ROUNDER = 12582912;

/** eʳ = 1 + r + r² P(r), relative error 3e-9 before rounding. */
const EXP = [
  0.49999993413848358, 0.16666520110960072, 0.041668393942823056, 0.0083687802105051928,
  0.0013814480614641471,
];
/** eʳ - 1 = r + r² P(r), relative error 2e-8. */
const EXPM1 = [
  0.5, 0.16666576666119928, 0.04166655421298415, 0.0083632328836826182, 0.0013926250831497612,
];

interface Reduced {
  /** n + bias in the low mantissa bits, as the sum with the rounder. */
  readonly biased: Regs;
  readonly r: Regs;
}

/** x·scale = n·ln 2 + r; `rounder` is ROUNDER plus the bias wanted in the exponent field. */
function reduce(vb: VectorBuilder, x: Regs, rounder: Regs): Reduced {
  const biased = vb.madd(x, vb.f32(LOG2_E), rounder);
  const n = vb.sub(biased, rounder);
  return { biased, r: vb.nmadd(n, vb.f32(LN2_LOW), vb.nmadd(n, vb.f32(LN2_HIGH), x)) };
}

/** r + r² P(r). */
function expm1Poly(vb: VectorBuilder, r: Regs, coefficients: readonly number[]): Regs {
  return vb.madd(vb.mul(r, r), vb.poly(r, coefficients), r);
}

/** 2ⁿ, where the biased sum holds n + 127. */
function powerOfTwo(vb: VectorBuilder, biased: Regs): Regs {
  return vb.shift('i32x4.shl', biased, 23);
}

/**
 * eˣ. The exponent range of results (2⁻¹⁴⁹ … 2¹²⁸) is wider than one scaling allows, so n is shifted by
 * ±64 away from its end of the range and the last multiplication undoes it, rounding denormals once.
 */
export function emitExp(vb: VectorBuilder, x: Regs): Regs {
  const negative = vb.bin('f32x4.lt', x, vb.f32(0));
  // pmin and pmax with x first keep NaN.
  const clamped = vb.bin('f32x4.pmin', vb.bin('f32x4.pmax', x, vb.f32(-104.5)), vb.f32(89));
  const rounder = vb.select(negative, vb.f32(ROUNDER + 127 + 64), vb.f32(ROUNDER + 127 - 64));
  const { biased, r } = reduce(vb, clamped, rounder);
  const p = vb.add(expm1Poly(vb, r, EXP), vb.f32(1));
  return vb.mul(
    vb.mul(p, powerOfTwo(vb, biased)),
    vb.select(negative, vb.f32(2 ** -64), vb.f32(2 ** 64)),
  );
}

/** eˣ for x ≤ 0 (and up to 40); anything above is wrong. */
export function emitExpNonPositive(vb: VectorBuilder, x: Regs): Regs {
  const { biased, r } = reduce(
    vb,
    vb.bin('f32x4.pmax', x, vb.f32(-104.5)),
    vb.f32(ROUNDER + 127 + 64),
  );
  const p = vb.add(expm1Poly(vb, r, EXP), vb.f32(1));
  return vb.mul(vb.mul(p, powerOfTwo(vb, biased)), vb.f32(2 ** -64));
}

/**
 * 1 / (1 + e⁻ˣ). With e = e^-|x| and g = e / (1 + e), the result is 1 - g, or e - e·g for negative x:
 * rounding errors of g count little in either, and small results keep their precision.
 */
export function emitSigmoid(vb: VectorBuilder, x: Regs): Regs {
  const e = emitExpNonPositive(vb, vb.bin('v128.or', x, vb.i32(-0x80000000)));
  const g = vb.bin('f32x4.div', e, vb.add(e, vb.f32(1)));
  const whole = vb.select(vb.bin('f32x4.lt', x, vb.f32(0)), e, vb.f32(1));
  return vb.nmadd(whole, g, whole);
}

/**
 * tanh |x| = (1 - e) / (1 + e) with e = e^-2|x| = s (1 + t), s a power of two: 1 - s and 1 + s are exact,
 * so numerator and denominator round once, and the quotient keeps its relative precision at 0.
 */
export function emitTanh(vb: VectorBuilder, x: Regs): Regs {
  const sign = vb.i32(-0x80000000);
  const magnitude = vb.bin('f32x4.pmin', vb.bin('v128.andnot', x, sign), vb.f32(9.1));
  const { biased, r } = reduce(vb, vb.mul(magnitude, vb.f32(-2)), vb.f32(ROUNDER + 127));
  const s = powerOfTwo(vb, biased);
  const t = expm1Poly(vb, r, EXPM1);
  const one = vb.f32(1);
  const quotient = vb.bin(
    'f32x4.div',
    vb.nmadd(s, t, vb.sub(one, s)),
    vb.madd(s, t, vb.add(one, s)),
  );
  return vb.bin('v128.or', quotient, vb.bin('v128.and', x, sign));
}

/** Odd polynomial below 0.93, else 1 - e^q(|x|). */
export function emitErf(vb: VectorBuilder, x: Regs): Regs {
  const sign = vb.i32(-0x80000000);
  const t = vb.bin('v128.andnot', x, sign);
  const s = vb.mul(x, x);
  const small = vb.poly(
    s,
    [1.28379166e-1, -3.76125336e-1, 1.12819925e-1, -2.67681349e-2, 4.99119423e-3, -5.96761703e-4],
  );
  const near = vb.madd(small, x, x);
  const high = vb.madd(vb.f32(-1.7285347e-5), t, vb.f32(3.83197126e-4));
  const low = vb.madd(vb.f32(-3.88396438e-3), t, vb.f32(2.42546219e-2));
  const q = vb.poly(t, [-1.28717512e-1, -6.34846687e-1, -1.06777877e-1]);
  const tail = vb.madd(vb.madd(high, s, low), vb.mul(s, t), q);
  const e = emitExpNonPositive(vb, vb.sub(vb.mul(tail, t), t));
  const far = vb.bin('v128.or', vb.sub(vb.f32(1), e), vb.bin('v128.and', x, sign));
  return vb.select(vb.bin('f32x4.gt', t, vb.f32(0.927734375)), far, near);
}
