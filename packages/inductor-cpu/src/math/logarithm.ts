/**
 * @file Vector natural logarithm of f32: inline code for kernels' inner loops.
 *
 * x = 2ᵏ·m with m in [√½, √2), log m by the series of 2·artanh(f / (2 + f)), f = m - 1, as in musl's
 * `logf`. Positive normal numbers take the inline path; if any lane holds something else (zero,
 * negative, denormal, infinite, NaN), those registers are redone by a function.
 */
import { call, op } from '../emit/code.js';
import type { Code, DefinedFunction } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { VectorBuilder, type Reg, type Regs } from '../body/vector-builder.js';

const SQRT_HALF_BITS = 0x3f3504f3;
const ONE_BITS = 0x3f800000;

/** log of positive normal numbers, of 2^-shift times them. */
function logNormal(vb: VectorBuilder, x: Regs, shift: Regs | undefined): Regs {
  const offset = vb.bin('i32x4.add', x, vb.i32(ONE_BITS - SQRT_HALF_BITS));
  const exponent = vb.bin('i32x4.sub', vb.shift('i32x4.shr_u', offset, 23), vb.i32(127));
  const k = vb.un(
    'f32x4.convert_i32x4_s',
    shift === undefined ? exponent : vb.bin('i32x4.sub', exponent, shift),
  );
  const m = vb.bin(
    'i32x4.add',
    vb.bin('v128.and', offset, vb.i32(0x007fffff)),
    vb.i32(SQRT_HALF_BITS),
  );
  const f = vb.sub(m, vb.f32(1));
  const s = vb.bin('f32x4.div', f, vb.add(f, vb.f32(2)));
  const z = vb.mul(s, s);
  const w = vb.mul(z, z);
  const even = vb.mul(w, vb.madd(w, vb.f32(0.24279078841), vb.f32(0.40000972152)));
  const odd = vb.mul(z, vb.madd(w, vb.f32(0.28498786688), vb.f32(0.66666662693)));
  const half = vb.mul(vb.mul(f, f), vb.f32(0.5));
  const correction = vb.madd(
    k,
    vb.f32(9.0580006145e-6),
    vb.mul(s, vb.add(half, vb.add(even, odd))),
  );
  return vb.madd(k, vb.f32(0.69313812256), vb.sub(f, vb.sub(half, correction)));
}

let anyLog: (DefinedFunction & { readonly result: 'v128' }) | undefined;

/** log of anything. */
function logFunction(): DefinedFunction & { readonly result: 'v128' } {
  if (anyLog === undefined) {
    const f = new WasmFunction('f32x4.log', { x: 'v128' }, 'v128');
    const vb = new VectorBuilder(f, f.section(), { relaxedSimd: false });
    const x: Regs = [f.param<'v128'>('x')];
    const isSmall = vb.bin('f32x4.lt', x, vb.f32(2 ** -126));
    const scaled = vb.select(isSmall, vb.mul(x, vb.f32(2 ** 25)), x);
    const finite = logNormal(vb, scaled, vb.bin('v128.and', isSmall, vb.i32(25)));
    // sqrt gives what log gives for infinity, NaN and negative numbers.
    const isSpecial = vb.bin(
      'v128.or',
      vb.un('v128.not', vb.bin('f32x4.gt', x, vb.f32(0))),
      vb.bin('f32x4.eq', x, vb.f32(Infinity)),
    );
    const special = vb.select(
      vb.bin('f32x4.eq', x, vb.f32(0)),
      vb.f32(-Infinity),
      vb.un('f32x4.sqrt', x),
    );
    f.return(vb.select(isSpecial, special, finite)[0] as Reg);
    anyLog = f;
  }
  return anyLog;
}

/** Natural logarithm. */
export function emitLog(vb: VectorBuilder, x: Regs): Regs {
  const { f } = vb;
  const result = logNormal(vb, x, undefined).map((reg) => f.let('log', reg));
  const normal = vb.bin(
    'v128.and',
    vb.bin('f32x4.ge', x, vb.f32(2 ** -126)),
    vb.bin('f32x4.lt', x, vb.f32(Infinity)),
  );
  const all = normal
    .slice(1)
    .reduce<Code<'v128'>>((a, b) => op('v128.and', a, b), normal[0] as Reg);
  f.if(op('i32.eqz', op('i32x4.all_true', all)), () => {
    result.forEach((reg, i) => f.set(reg, call(logFunction(), x[i] as Reg)));
  });
  return result;
}
