/**
 * @file Building blocks of the less frequent f32 functions: f64 arithmetic on f64x2 registers.
 *
 * Working in f64 with polynomials good to about 1e-10 gives correctly rounded results nearly always,
 * without the care that f32 needs: exponents cannot overflow, denormals are normal, cancellation has 29
 * spare bits. It takes two registers for four elements and more coefficients, which these functions
 * can afford.
 */
import type { Regs, VectorBuilder } from '../body/vector-builder.js';

const ROUNDER = 6755399441055744; // 1.5 · 2⁵²

/** Arithmetic on f64 lanes. */
export class Wide {
  constructor(readonly vb: VectorBuilder) {}

  c(value: number): Regs {
    return this.vb.f64(value);
  }

  add(a: Regs, b: Regs): Regs {
    return this.vb.bin('f64x2.add', a, b);
  }

  sub(a: Regs, b: Regs): Regs {
    return this.vb.bin('f64x2.sub', a, b);
  }

  mul(a: Regs, b: Regs): Regs {
    return this.vb.bin('f64x2.mul', a, b);
  }

  div(a: Regs, b: Regs): Regs {
    return this.vb.bin('f64x2.div', a, b);
  }

  abs(a: Regs): Regs {
    return this.vb.un('f64x2.abs', a);
  }

  sqrt(a: Regs): Regs {
    return this.vb.un('f64x2.sqrt', a);
  }

  /** The magnitude of a with the sign of b. */
  withSign(a: Regs, b: Regs): Regs {
    const sign = this.vb.i64(-(2n ** 63n));
    return this.vb.bin(
      'v128.or',
      this.vb.bin('v128.andnot', a, sign),
      this.vb.bin('v128.and', b, sign),
    );
  }

  poly(x: Regs, coefficients: readonly number[]): Regs {
    let sum = this.c(coefficients[coefficients.length - 1] as number);
    for (let i = coefficients.length - 2; i >= 0; i--)
      sum = this.add(this.mul(sum, x), this.c(coefficients[i] as number));
    return sum;
  }

  /** eˣ - 1, for |x| ≤ 700 (clamped), and eˣ. */
  exp(x: Regs): { readonly minusOne: Regs; readonly full: Regs } {
    const { vb } = this;
    const clamped = vb.bin('f64x2.pmin', vb.bin('f64x2.pmax', x, this.c(-700)), this.c(700));
    const biased = this.add(this.mul(clamped, this.c(Math.LOG2E)), this.c(ROUNDER + 1023));
    const n = this.sub(biased, this.c(ROUNDER + 1023));
    const r = this.sub(clamped, this.mul(n, this.c(Math.LN2)));
    const p = this.add(r, this.mul(this.mul(r, r), this.poly(r, EXPM1)));
    const scale = vb.shift('i64x2.shl', biased, 52);
    return {
      minusOne: this.add(this.mul(p, scale), this.sub(scale, this.c(1))),
      full: this.add(this.mul(p, scale), scale),
    };
  }

  /** log x of positive normal numbers; what it gives for others is to be replaced. */
  log(x: Regs): Regs {
    const { vb } = this;
    const offset = vb.bin('i64x2.add', x, vb.i64(ONE_BITS - SQRT_HALF_BITS));
    // The biased exponent as a float: put in the mantissa of 2⁵², which is then subtracted.
    const biased = vb.bin('v128.or', vb.shift('i64x2.shr_u', offset, 52), this.c(2 ** 52));
    const k = this.sub(biased, this.c(2 ** 52 + 1023));
    const m = vb.bin(
      'i64x2.add',
      vb.bin('v128.and', offset, vb.i64(2n ** 52n - 1n)),
      vb.i64(SQRT_HALF_BITS),
    );
    const f = this.sub(m, this.c(1));
    const s = this.div(f, this.add(f, this.c(2)));
    const z = this.mul(s, s);
    const twice = this.add(s, s);
    return this.add(
      this.mul(k, this.c(Math.LN2)),
      this.add(twice, this.mul(twice, this.mul(z, this.poly(z, LOG)))),
    );
  }

  /** Sine and cosine, for |x| < 2²⁰. */
  sincos(x: Regs): { readonly sin: Regs; readonly cos: Regs } {
    const { vb } = this;
    const rounded = this.add(this.mul(x, this.c(2 / Math.PI)), this.c(ROUNDER));
    const n = this.sub(rounded, this.c(ROUNDER));
    // π/2 in two parts; n times the first is exact.
    const r = this.sub(
      this.sub(x, this.mul(n, this.c(HALF_PI_HIGH))),
      this.mul(n, this.c(HALF_PI_LOW)),
    );
    const z = this.mul(r, r);
    const sin = this.add(r, this.mul(this.mul(r, z), this.poly(z, SIN)));
    const cos = this.add(
      this.sub(this.c(1), this.mul(z, this.c(0.5))),
      this.mul(this.mul(z, z), this.poly(z, COS)),
    );
    // Quadrant: odd ones swap, the second bit negates.
    const swap = vb.bin('i64x2.eq', vb.bin('v128.and', rounded, vb.i64(1n)), vb.i64(1n));
    const bit = (of: Regs): Regs => vb.shift('i64x2.shl', vb.bin('v128.and', of, vb.i64(2n)), 62);
    const next = vb.bin('i64x2.add', rounded, vb.i64(1n));
    return {
      sin: vb.bin('v128.xor', vb.select(swap, cos, sin), bit(rounded)),
      cos: vb.bin('v128.xor', vb.select(swap, sin, cos), bit(next)),
    };
  }

  /** Arc tangent. */
  atan(x: Regs): Regs {
    const { vb } = this;
    const a = this.abs(x);
    const isLarge = vb.bin('f64x2.gt', a, this.c(1));
    const t = vb.select(isLarge, this.div(this.c(1), a), a);
    const z = this.mul(t, t);
    const small = this.add(t, this.mul(this.mul(t, z), this.poly(z, ATAN)));
    return this.withSign(vb.select(isLarge, this.sub(this.c(Math.PI / 2), small), small), x);
  }
}

const ONE_BITS = 0x3ff0000000000000n;
const SQRT_HALF_BITS = 0x3fe6a09e667f3bcdn;
const HALF_PI_HIGH = 1.5707963267341256;
const HALF_PI_LOW = 6.077100506506192e-11;

/** (eˣ - 1 - x) / x² on |x| ≤ ln 2 / 2, to 2e-13. */
const EXPM1 = [
  0.49999999999954746, 0.16666666666662554, 0.041666666786985556, 0.0083333333442683942,
  0.0013888838910996057, 0.00019841224418291944, 2.4868002978056964e-5, 2.7617685465165069e-6,
];
/** (artanh(s)/s - 1) / s² in s², to 1e-13. */
const LOG = [
  0.3333333333369115, 0.1999999939376289, 0.14285878268617283, 0.11095636946812815,
  0.096825587974457646,
];
/** (sin(x)/x - 1) / x² in x² on |x| ≤ π/4, to 2e-14. */
const SIN = [
  -0.16666666666663858, 0.0083333333310611601, -0.00019841266899437399, 2.7555985625200862e-6,
  -2.4805145406747432e-8,
];
/** (cos x - 1 + x²/2) / x⁴ in x², to 1e-12. */
const COS = [
  0.041666666664302406, -0.001388888766471362, 2.4800596435621997e-5, -2.7300448619488355e-7,
];
/** (atan(x)/x - 1) / x² in x² on [0, 1], to 3e-11. */
const ATAN = [
  -0.33333333326944142, 0.19999998154086215, -0.14285624891483526, 0.11109392308322223,
  -0.090735531189764087, 0.075866528336466699, -0.062463151941283169, 0.047294798621813337,
  -0.02991311194551696, 0.01407292334469724, -0.0042216579909296478, 0.00059304375563652819,
];
