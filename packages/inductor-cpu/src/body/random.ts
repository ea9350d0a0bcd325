/**
 * @file Philox 4×32-10 on four lanes, and the numbers made from its words.
 *
 * The counter of element `index` is [index, 0, offset, 0] and the key [seed, 0]; see philox.ts of
 * @tessera/tensor, which this repeats bit for bit (uniform) and up to rounding of log and cos (normal).
 */
import { emitFunction } from '../math/vector-program.js';
import type { Regs, VectorBuilder } from './vector-builder.js';

const M0 = 0xd2511f53;
const M1 = 0xcd9e8d57;
const W0 = 0x9e3779b9;
const W1 = 0xbb67ae85;

/** Low and high 32 bits of the unsigned product with a constant. */
function multiply(
  vb: VectorBuilder,
  a: Regs,
  factor: number,
): { readonly low: Regs; readonly high: Regs } {
  const constant = vb.i32(factor);
  const even = vb.bin('i64x2.extmul_low_i32x4_u', a, constant);
  const odd = vb.bin('i64x2.extmul_high_i32x4_u', a, constant);
  return { low: vb.shuffle([0, 2, 4, 6], even, odd), high: vb.shuffle([1, 3, 5, 7], even, odd) };
}

/** The first two output words for each lane; all arguments are i32 registers. */
function philox(vb: VectorBuilder, seed: Regs, offset: Regs, index: Regs): readonly [Regs, Regs] {
  let [c0, c1, c2, c3]: Regs[] = [index, vb.i32(0), offset, vb.i32(0)];
  let k0 = seed;
  for (let round = 0; round < 10; round++) {
    const a = multiply(vb, c0, M0);
    const b = multiply(vb, c2, M1);
    const k1 = vb.i32(Math.imul(W1, round));
    [c0, c2] = [
      vb.bin('v128.xor', vb.bin('v128.xor', b.high, c1), k0),
      vb.bin('v128.xor', vb.bin('v128.xor', a.high, c3), k1),
    ];
    [c1, c3] = [b.low, a.low];
    k0 = vb.bin('i32x4.add', k0, vb.i32(W0));
  }
  return [c0, c1];
}

/** The upper 24 bits as a number in [0, 1), plus `extra` units of 2⁻²⁴. */
function fraction(vb: VectorBuilder, word: Regs, extra: number): Regs {
  const bits = vb.shift('i32x4.shr_u', word, 8);
  const shifted = extra === 0 ? bits : vb.bin('i32x4.add', bits, vb.i32(extra));
  return vb.mul(vb.un('f32x4.convert_i32x4_s', shifted), vb.f32(2 ** -24));
}

/** Random f32 numbers: uniform in [0, 1), or standard normal by Box–Muller. */
export function emitRandom(
  vb: VectorBuilder,
  distribution: 'uniform' | 'normal',
  seed: Regs,
  offset: Regs,
  index: Regs,
): Regs {
  const [word0, word1] = philox(vb, seed, offset, index);
  if (distribution === 'uniform') return fraction(vb, word0, 0);
  const radius = vb.un(
    'f32x4.sqrt',
    vb.mul(emitFunction(vb, 'log', [fraction(vb, word0, 1)]), vb.f32(-2)),
  );
  // The angle's rounding to f32 costs 2⁻²⁵ · 2π, which is below the error that f32 results have anyway.
  return vb.mul(
    radius,
    emitFunction(vb, 'cos', [vb.mul(fraction(vb, word1, 0), vb.f32(2 * Math.PI))]),
  );
}
