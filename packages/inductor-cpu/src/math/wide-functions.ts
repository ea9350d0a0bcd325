/**
 * @file The less frequent f32 functions, as WebAssembly functions `(v128…) -> v128` that kernels call.
 *
 * Each widens four floats to f64, computes with the blocks of `wide-core.ts` and rounds once, so
 * errors are within 1 ulp over all inputs. Special values follow IEEE 754 and C's libm.
 */
import { call, lane, op } from '../emit/code.js';
import type { Code, DefinedFunction } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { mathImport } from '../body/scalar-functions.js';
import { convert } from '../body/convert.js';
import { VectorBuilder, type Reg, type Regs } from '../body/vector-builder.js';
import { Wide } from './wide-core.js';

/** Functions of this file. */
export type WideName =
  | 'exp2'
  | 'expm1'
  | 'log2'
  | 'log1p'
  | 'sin'
  | 'cos'
  | 'tan'
  | 'asin'
  | 'acos'
  | 'atan'
  | 'sinh'
  | 'cosh'
  | 'atan2'
  | 'pow';

type Vector = DefinedFunction & { readonly result: 'v128' };
type Build = (w: Wide, x: Regs, y: Regs) => Regs;

const made = new Map<string, Vector>();

/** Above this, the two-part reduction of angles is not exact. */
const HUGE_ANGLE = 2 ** 20;

/** The function of this name. */
function wideFunction(name: WideName): Vector {
  let found = made.get(name);
  if (found === undefined) {
    const binary = name === 'pow' || name === 'atan2';
    const f: WasmFunction<'v128'> = new WasmFunction(
      `f32x4.${name}`,
      binary ? { x: 'v128', y: 'v128' } : { x: 'v128' },
      'v128',
    );
    const vb = new VectorBuilder(f, f.section(), { relaxedSimd: false });
    const widen = (param: string): Regs =>
      convert(vb, { kind: 'f32', uniform: false, regs: [f.param<'v128'>(param)] }, 'f64').regs;
    if (name === 'sin' || name === 'cos' || name === 'tan') guardHugeAngles(f, vb, name);
    const x = widen('x');
    const result = BUILDERS[name](new Wide(vb), x, binary ? widen('y') : x);
    f.return(convert(vb, { kind: 'f64', uniform: false, regs: result }, 'f32').regs[0] as Reg);
    found = f;
    made.set(name, found);
  }
  return found;
}

/** Where some angle is too large for the two-part reduction, JavaScript's own function does the four lanes. */
function guardHugeAngles(
  f: WasmFunction<'v128'>,
  vb: VectorBuilder,
  name: 'sin' | 'cos' | 'tan',
): void {
  const x = f.param<'v128'>('x');
  const tame = vb.bin('f32x4.lt', vb.un('f32x4.abs', [x]), vb.f32(HUGE_ANGLE));
  f.if(op('i32.eqz', op('i32x4.all_true', tame[0] as Reg)), () => {
    const scalar = (k: number): Code<'f32'> =>
      op(
        'f32.demote_f64',
        call(mathImport(name, 1), op('f64.promote_f32', lane('f32x4.extract_lane', k, x))),
      );
    let all = op('f32x4.splat', scalar(0));
    for (let k = 1; k < 4; k++) all = lane('f32x4.replace_lane', k, all, scalar(k));
    f.return(all);
  });
}

/** x where it is infinite or NaN or zero, as expm1-like functions give at -0; else y. */
function keepZero(w: Wide, x: Regs, y: Regs): Regs {
  return w.vb.select(w.vb.bin('f64x2.eq', x, w.c(0)), x, y);
}

/** log x with the special values of 0, negative numbers and infinity. */
function fullLog(w: Wide, x: Regs): Regs {
  const { vb } = w;
  const isRegular = vb.bin(
    'v128.and',
    vb.bin('f64x2.gt', x, w.c(0)),
    vb.bin('f64x2.lt', x, w.c(Infinity)),
  );
  const special = vb.select(vb.bin('f64x2.eq', x, w.c(0)), w.c(-Infinity), w.sqrt(x));
  return vb.select(isRegular, w.log(x), special);
}

const BUILDERS: Readonly<Record<WideName, Build>> = {
  exp2: (w, x) => w.exp(w.mul(x, w.c(Math.LN2))).full,
  expm1: (w, x) => keepZero(w, x, w.exp(x).minusOne),
  log2: (w, x) => w.mul(fullLog(w, x), w.c(Math.LOG2E)),
  log1p: (w, x) => {
    // Below 2⁻²⁸, 1 + x loses bits of x and log1p x is x.
    const isTiny = w.vb.bin('f64x2.lt', w.abs(x), w.c(2 ** -28));
    return w.vb.select(isTiny, x, fullLog(w, w.add(x, w.c(1))));
  },
  sin: (w, x) => keepZero(w, x, w.sincos(x).sin),
  cos: (w, x) => w.sincos(x).cos,
  tan: (w, x) => {
    const { sin, cos } = w.sincos(x);
    return keepZero(w, x, w.div(sin, cos));
  },
  asin: (w, x) => w.atan(w.div(x, w.sqrt(w.mul(w.sub(w.c(1), x), w.add(w.c(1), x))))),
  acos: (w, x) => {
    const half = w.atan(w.sqrt(w.div(w.sub(w.c(1), x), w.add(w.c(1), x))));
    return w.add(half, half);
  },
  atan: (w, x) => w.atan(x),
  sinh: (w, x) => {
    const m = w.exp(w.abs(x)).minusOne;
    return w.withSign(w.mul(w.add(m, w.div(m, w.add(m, w.c(1)))), w.c(0.5)), x);
  },
  cosh: (w, x) => {
    const e = w.exp(x).full;
    return w.mul(w.add(e, w.div(w.c(1), e)), w.c(0.5));
  },
  atan2: (w, y, x) => {
    const { vb } = w;
    const bothZero = vb.bin('f64x2.eq', vb.un('f64x2.abs', vb.bin('v128.or', x, y)), w.c(0));
    const bothInfinite = vb.bin(
      'v128.and',
      vb.bin('f64x2.eq', w.abs(x), w.c(Infinity)),
      vb.bin('f64x2.eq', w.abs(y), w.c(Infinity)),
    );
    const ratio = w.div(w.abs(y), w.abs(x));
    const tangent = vb.select(bothZero, w.c(0), vb.select(bothInfinite, w.c(1), ratio));
    const angle = w.atan(tangent);
    // The sign bit of x decides, so that -0 counts as negative.
    const isLeft = vb.bin('i64x2.lt_s', x, vb.i64(0n));
    return w.withSign(vb.select(isLeft, w.sub(w.c(Math.PI), angle), angle), y);
  },
  pow: (w, x, y) => {
    const { vb } = w;
    const finite = w.exp(w.mul(y, w.log(w.abs(x)))).full;
    // |x| of 0 and ∞: 0 or ∞, by the sign of y; so does y = ±∞, by |x| against 1.
    const overflow = vb.select(vb.bin('f64x2.gt', y, w.c(0)), w.abs(x), w.div(w.c(1), w.abs(x)));
    const isEdge = vb.bin(
      'v128.or',
      vb.bin('f64x2.eq', x, w.c(0)),
      vb.bin('f64x2.eq', w.abs(x), w.c(Infinity)),
    );
    const yInfinite = vb.bin('f64x2.eq', w.abs(y), w.c(Infinity));
    const grows = vb.bin(
      'v128.xor',
      vb.bin('f64x2.lt', y, w.c(0)),
      vb.bin('f64x2.gt', w.abs(x), w.c(1)),
    );
    const magnitude = vb.select(
      yInfinite,
      vb.bin('v128.and', grows, w.c(Infinity)),
      vb.select(isEdge, overflow, finite),
    );
    // Negative x: the sign of an odd integer power; NaN for powers between integers.
    const isInteger = vb.bin('f64x2.eq', vb.un('f64x2.trunc', y), y);
    const halfway = w.mul(y, w.c(0.5));
    const isOdd = vb.bin(
      'v128.andnot',
      isInteger,
      vb.bin('f64x2.eq', vb.un('f64x2.trunc', halfway), halfway),
    );
    const signed = vb.bin(
      'v128.or',
      magnitude,
      vb.bin('v128.and', vb.bin('v128.and', isOdd, x), vb.i64(-(2n ** 63n))),
    );
    const isBad = vb.bin(
      'v128.andnot',
      vb.bin('v128.andnot', vb.bin('f64x2.lt', x, w.c(0)), isInteger),
      vb.bin('v128.or', yInfinite, isEdge),
    );
    const isNan = vb.bin(
      'v128.or',
      isBad,
      vb.bin('v128.or', vb.bin('f64x2.ne', x, x), vb.bin('f64x2.ne', y, y)),
    );
    const isOne = vb.bin('v128.or', vb.bin('f64x2.eq', y, w.c(0)), vb.bin('f64x2.eq', x, w.c(1)));
    const minusOne = vb.bin('v128.and', yInfinite, vb.bin('f64x2.eq', x, w.c(-1)));
    return vb.select(
      vb.bin('v128.or', isOne, minusOne),
      w.c(1),
      vb.select(isNan, w.c(NaN), signed),
    );
  },
};

/** Names of the functions of this file. */
export const WIDE_NAMES: readonly WideName[] = Object.keys(BUILDERS) as WideName[];

/** Calls the function for every register. */
export function callWide(vb: VectorBuilder, name: WideName, ...args: readonly Regs[]): Regs {
  const callee = wideFunction(name);
  return vb.map(args, (...regs) => call(callee, ...regs));
}
