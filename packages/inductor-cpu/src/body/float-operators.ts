/**
 * @file Operations on floats: arithmetic in vector instructions, f32 functions from `math/`, f64
 * functions lane by lane through JavaScript's `Math`.
 */
import type { Expr } from '@tessera/inductor-core';
import { call, f64, lane, op } from '../emit/code.js';
import type { Code } from '../emit/types.js';
import { FLOAT32_FUNCTIONS } from '../math/float32-functions.js';
import { convert } from './convert.js';
import { binary, eachLane, unary, type Operator, type Operators } from './operator.js';
import { erfFunction, floatPower, fmodFunction, mathImport } from './scalar-functions.js';
import type { Value } from './value.js';
import type { Reg, Regs, VectorBuilder } from './vector-builder.js';

type FloatShape = 'f32x4' | 'f64x2';

/** Whether an operand is a constant other than NaN. */
function isNumber(expr: Expr | undefined): boolean {
  return expr?.kind === 'const' && !Number.isNaN(expr.value);
}

/**
 * NaN-propagating extreme of floats. `pmin(x, c)` keeps x where the comparison with it fails, so with a
 * constant second it is the right answer in one instruction instead of about six.
 */
const extreme =
  (shape: FloatShape, name: 'min' | 'max'): Operator =>
  (vb, [a, b], expr) => {
    const [x, y] = [(a as Value).regs, (b as Value).regs];
    if (isNumber(expr.args[1])) return vb.bin(`${shape}.p${name}`, x, y);
    if (isNumber(expr.args[0])) return vb.bin(`${shape}.p${name}`, y, x);
    return vb.bin(`${shape}.${name}`, x, y);
  };

/** (x > 0) - (x < 0), as a float. */
const floatSign =
  (shape: FloatShape): Operator =>
  (vb, [a]) => {
    const x = (a as Value).regs;
    const positive = vb.bin('v128.and', vb.bin(`${shape}.gt`, x, vb.i32(0)), one(vb, shape));
    return vb.bin(
      `${shape}.sub`,
      positive,
      vb.bin('v128.and', vb.bin(`${shape}.lt`, x, vb.i32(0)), one(vb, shape)),
    );
  };

/** The magnitude of a with the sign bit of b. */
const copySign =
  (shape: FloatShape): Operator =>
  (vb, [a, b]) =>
    vb.select(signBit(vb, shape), (b as Value).regs, (a as Value).regs);

/** The next float: bits below the sign count magnitudes up. */
const nextAfter =
  (shape: FloatShape): Operator =>
  (vb, [a, b]) => {
    const [x, y] = [(a as Value).regs, (b as Value).regs];
    const whole = shape === 'f32x4' ? 'i32x4' : 'i64x2';
    const sign = signBit(vb, shape);
    const size = vb.bin('v128.andnot', x, sign);
    // -1 (all ones) where the step leads towards zero, else 0; with its lowest bit set, the step itself.
    const inwards = vb.bin(
      'v128.xor',
      vb.bin(`${shape}.gt`, y, x),
      vb.bin(`${shape}.gt`, x, vb.i32(0)),
    );
    const unit = shape === 'f32x4' ? vb.i32(1) : vb.i64(1n);
    const delta = vb.bin('v128.or', inwards, unit);
    const step = vb.bin(
      'v128.or',
      vb.bin(`${whole}.add`, size, delta),
      vb.bin('v128.and', x, sign),
    );
    const tiny = vb.bin('v128.or', unit, vb.bin('v128.and', y, sign));
    const moved = vb.select(vb.bin(`${shape}.eq`, x, vb.i32(0)), tiny, step);
    const settled = vb.select(vb.bin(`${shape}.eq`, x, y), y, moved);
    const ordered = vb.bin('v128.and', vb.bin(`${shape}.eq`, x, x), vb.bin(`${shape}.eq`, y, y));
    return vb.select(ordered, settled, vb.bin(`${shape}.add`, x, y));
  };

function signBit(vb: VectorBuilder, shape: FloatShape): Regs {
  return shape === 'f32x4' ? vb.f32(-0) : vb.i64(-(2n ** 63n));
}

/** f32 division and rounding through f64, where the quotient of f32 numbers never rounds across an integer. */
const floatDivision =
  (rounding: 'floor' | 'trunc'): Operator =>
  (vb, [a, b]) => {
    const [x, y] = [convert(vb, a as Value, 'f64'), convert(vb, b as Value, 'f64')];
    const uniform = x.uniform && y.uniform;
    const quotient = vb.un(`f64x2.${rounding}`, vb.bin('f64x2.div', x.regs, y.regs));
    return convert(vb, { kind: 'f64', uniform, regs: quotient }, 'f32').regs;
  };

function fmodLanes(vb: VectorBuilder, kind: 'f32' | 'f64', args: readonly Value[]): Regs {
  return kind === 'f64'
    ? eachLane(vb, 'f64', args, (k, x, y) =>
        call(fmodFunction(), lane('f64x2.extract_lane', k, x), lane('f64x2.extract_lane', k, y)),
      )
    : eachLane(vb, 'f32', args, (k, x, y) =>
        op('f32.demote_f64', call(fmodFunction(), promoted(x, k), promoted(y, k))),
      );
}

function promoted(reg: Reg, k: number): Code<'f64'> {
  return op('f64.promote_f32', lane('f32x4.extract_lane', k, reg));
}

/** Remainder with the sign of the divisor. */
const floatRemainder =
  (kind: 'f32' | 'f64'): Operator =>
  (vb, args) => {
    const shape = kind === 'f32' ? 'f32x4' : 'f64x2';
    const b = (args[1] as Value).regs;
    const r = fmodLanes(vb, kind, args);
    const zero = vb.i32(0);
    const disagree = vb.bin(
      'v128.xor',
      vb.bin(`${shape}.lt`, r, zero),
      vb.bin(`${shape}.lt`, b, zero),
    );
    const correct = vb.bin('v128.and', disagree, vb.bin(`${shape}.ne`, r, zero));
    // A remainder of -0 stays: adding 0 to it would not.
    return vb.select(correct, vb.bin(`${shape}.add`, r, b), r);
  };

/** A function of JavaScript's `Math` on f64 lanes. */
const mathOperator =
  (name: string, arity: 1 | 2): Operator =>
  (vb, args) =>
    eachLane(vb, 'f64', args, (k, ...regs) =>
      call(mathImport(name, arity), ...regs.map((reg) => lane('f64x2.extract_lane', k, reg))),
    );

/** An expression of f64 lanes with one transcendental inside. */
const derived =
  (
    inner: string,
    before: ((vb: VectorBuilder, x: Regs) => Regs) | undefined,
    after: (vb: VectorBuilder, y: Regs) => Regs,
  ): Operator =>
  (vb, [a], expr) => {
    const x = a as Value;
    const argument = before === undefined ? x : { ...x, regs: before(vb, x.regs) };
    return after(vb, mathOperator(inner, 1)(vb, [argument], expr));
  };

function one(vb: VectorBuilder, shape: FloatShape): Regs {
  return shape === 'f32x4' ? vb.f32(1) : vb.f64(1);
}

/** Operations that both float kinds do with one or two vector instructions. */
function floatOperators(shape: FloatShape): Operators {
  return {
    add: binary(`${shape}.add`),
    sub: binary(`${shape}.sub`),
    mul: binary(`${shape}.mul`),
    div: binary(`${shape}.div`),
    neg: unary(`${shape}.neg`),
    abs: unary(`${shape}.abs`),
    sign: floatSign(shape),
    copysign: copySign(shape),
    nextafter: nextAfter(shape),
    sqrt: unary(`${shape}.sqrt`),
    floor: unary(`${shape}.floor`),
    ceil: unary(`${shape}.ceil`),
    round: unary(`${shape}.nearest`),
    trunc: unary(`${shape}.trunc`),
    maximum: extreme(shape, 'max'),
    minimum: extreme(shape, 'min'),
    square: (vb, [a]) => vb.bin(`${shape}.mul`, (a as Value).regs, (a as Value).regs),
    reciprocal: (vb, [a]) => vb.bin(`${shape}.div`, one(vb, shape), (a as Value).regs),
    rsqrt: (vb, [a]) =>
      vb.bin(`${shape}.div`, one(vb, shape), vb.un(`${shape}.sqrt`, (a as Value).regs)),
    fma: (vb, [a, b, c]) =>
      vb.bin(
        `${shape}.add`,
        vb.bin(`${shape}.mul`, (a as Value).regs, (b as Value).regs),
        (c as Value).regs,
      ),
  };
}

const vectorFunctions = Object.fromEntries(
  Object.entries(FLOAT32_FUNCTIONS).map(([name, emit]): [string, Operator] => [
    name,
    (vb, args) => emit(vb, ...args.map((arg) => arg.regs)),
  ]),
);

/** Operators of f32. */
export const FLOAT32_OPERATORS: Operators = {
  ...floatOperators('f32x4'),
  floordiv: floatDivision('floor'),
  truncdiv: floatDivision('trunc'),
  fmod: (vb, args) => fmodLanes(vb, 'f32', args),
  remainder: floatRemainder('f32'),
  ...vectorFunctions,
};

/** Operators of f64. */
export const FLOAT64_OPERATORS: Operators = {
  ...floatOperators('f64x2'),
  floordiv: (vb, [a, b]) =>
    vb.un('f64x2.floor', vb.bin('f64x2.div', (a as Value).regs, (b as Value).regs)),
  truncdiv: (vb, [a, b]) =>
    vb.un('f64x2.trunc', vb.bin('f64x2.div', (a as Value).regs, (b as Value).regs)),
  fmod: (vb, args) => fmodLanes(vb, 'f64', args),
  remainder: floatRemainder('f64'),
  pow: (vb, args) =>
    eachLane(vb, 'f64', args, (k, x, y) =>
      call(floatPower(), lane('f64x2.extract_lane', k, x), lane('f64x2.extract_lane', k, y)),
    ),
  atan2: mathOperator('atan2', 2),
  erf: (vb, [a]) =>
    eachLane(vb, 'f64', [a as Value], (k, x) =>
      call(erfFunction(), lane('f64x2.extract_lane', k, x)),
    ),
  exp2: (vb, [a]) =>
    eachLane(vb, 'f64', [a as Value], (k, x) =>
      call(mathImport('pow', 2), f64(2), lane('f64x2.extract_lane', k, x)),
    ),
  sigmoid: derived(
    'exp',
    (vb, x) => vb.un('f64x2.neg', x),
    (vb, y) => vb.bin('f64x2.div', vb.f64(1), vb.bin('f64x2.add', vb.f64(1), y)),
  ),
  ...Object.fromEntries(
    [
      'exp',
      'expm1',
      'log',
      'log2',
      'log1p',
      'sin',
      'cos',
      'tan',
      'asin',
      'acos',
      'atan',
      'sinh',
      'cosh',
      'tanh',
    ].map((name) => [name, mathOperator(name, 1)]),
  ),
};
