/**
 * @file Emits one IR operation on vector values: arithmetic, comparisons, logic and selection.
 *
 * What each operation means is defined by `evalScalar` of inductor-core; this agrees with it up to the
 * stated error of transcendental functions. Operations without vector instructions go lane by lane,
 * they alone: the rest of the kernel stays in vectors.
 */
import type { Expr, ScalarOp } from '@tessera/inductor-core';
import { TesseraError } from '@tessera/shared';
import { call, f64, lane, op, type BinaryVectorOp, type UnaryVectorOp } from '../emit/code.js';
import type { Code } from '../emit/types.js';
import { FLOAT32_FUNCTIONS } from '../math/float32-functions.js';
import { castTo, convert } from './convert.js';
import { kindOf, SHAPES, type ElementKind } from './element-kind.js';
import {
  erfFunction,
  floatPower,
  fmodFunction,
  integerFunction,
  mathImport,
  type IntegerFunction,
} from './scalar-functions.js';
import { boolValue, maskFor, type Value } from './value.js';
import type { Reg, Regs, VectorBuilder } from './vector-builder.js';

type OpExpr = Extract<Expr, { kind: 'op' }>;
type Operator = (vb: VectorBuilder, args: readonly Value[], expr: OpExpr) => Regs;

const COMPARISONS = { eq: 'eq', ne: 'ne', lt: 'lt', le: 'le', gt: 'gt', ge: 'ge' } as const;

/** The value of `expr`, whose operands are `args`. @throws kernel-missing when a dtype has no such operation */
export function applyOperator(vb: VectorBuilder, expr: OpExpr, args: readonly Value[]): Value {
  const { op: name } = expr;
  const uniform = args.every((arg) => arg.uniform);
  const first = args[0] as Value;
  if (name === 'cast') return castTo(vb, first, expr.dtype);
  if (name === 'where') return selectValue(vb, args, uniform);
  if (name === 'isnan' || name === 'isinf') return classify(vb, name, first);
  if (name in COMPARISONS) return compare(vb, name as keyof typeof COMPARISONS, args, uniform);
  const kind = kindOf(expr.dtype);
  const operator = OPERATORS[kind][name];
  if (operator === undefined) {
    throw new TesseraError(
      'kernel-missing',
      `The CPU backend has no '${name}' for ${expr.dtype}.`,
      {
        context: { op: name, dtype: expr.dtype },
        hints: ['Convert the operands to a floating dtype first.'],
      },
    );
  }
  return { kind, uniform, regs: operator(vb, args, expr) };
}

function selectValue(vb: VectorBuilder, args: readonly Value[], uniform: boolean): Value {
  const [condition, a, b] = args as [Value, Value, Value];
  return { kind: a.kind, uniform, regs: vb.select(maskFor(vb, condition, a.kind), a.regs, b.regs) };
}

function classify(vb: VectorBuilder, name: 'isnan' | 'isinf', x: Value): Value {
  if (x.kind === 'i32' || x.kind === 'i64' || x.kind === 'bool')
    return { kind: 'bool', uniform: true, regs: vb.i32(0) };
  const shape = x.kind === 'f32' ? 'f32x4' : 'f64x2';
  const infinity = shape === 'f32x4' ? vb.f32(Infinity) : vb.f64(Infinity);
  const regs =
    name === 'isnan'
      ? vb.bin(`${shape}.ne`, x.regs, x.regs)
      : vb.bin(`${shape}.eq`, vb.un(`${shape}.abs`, x.regs), infinity);
  return boolValue(vb, x.kind, x.uniform, regs);
}

function compare(
  vb: VectorBuilder,
  name: keyof typeof COMPARISONS,
  args: readonly Value[],
  uniform: boolean,
): Value {
  const [a, b] = args as [Value, Value];
  if (a.kind === 'bool') {
    // True is the mask -1, so the order of signed lanes is the reverse of the order of bools.
    const swapped = { eq: 'eq', ne: 'ne', lt: 'gt_s', le: 'ge_s', gt: 'lt_s', ge: 'le_s' } as const;
    return { kind: 'bool', uniform, regs: vb.bin(`i32x4.${swapped[name]}`, a.regs, b.regs) };
  }
  const shape = SHAPES[a.kind];
  const signed = (shape === 'i32x4' || shape === 'i64x2') && name !== 'eq' && name !== 'ne';
  return boolValue(
    vb,
    a.kind,
    uniform,
    vb.bin(`${shape}.${name}${signed ? '_s' : ''}` as BinaryVectorOp, a.regs, b.regs),
  );
}

/** Lane by lane: `make(k, …)` gives lane k as a scalar. */
function eachLane(
  vb: VectorBuilder,
  kind: ElementKind,
  args: readonly Value[],
  make: (k: number, ...regs: Reg[]) => Code,
): Regs {
  const shape = SHAPES[kind];
  const lanes = shape === 'f32x4' || shape === 'i32x4' ? 4 : 2;
  const loose = {
    splat: op as unknown as (name: string, x: Code) => Code<'v128'>,
    replace: lane as unknown as (name: string, k: number, v: Code<'v128'>, x: Code) => Code<'v128'>,
  };
  return vb.map(
    args.map((arg) => arg.regs),
    (...regs) => {
      let vector = loose.splat(`${shape}.splat`, make(0, ...regs));
      const uniform = args.every((arg) => arg.uniform);
      for (let k = 1; k < lanes && !uniform; k++)
        vector = loose.replace(`${shape}.replace_lane`, k, vector, make(k, ...regs));
      return vector;
    },
  );
}

const binary =
  (name: BinaryVectorOp): Operator =>
  (vb, [a, b]) =>
    vb.bin(name, (a as Value).regs, (b as Value).regs);

const unary =
  (name: UnaryVectorOp): Operator =>
  (vb, [a]) =>
    vb.un(name, (a as Value).regs);

/** Whether an operand is a constant other than NaN. */
function isNumber(expr: Expr | undefined): boolean {
  return expr?.kind === 'const' && !Number.isNaN(expr.value);
}

/**
 * NaN-propagating extreme of floats. `pmin(x, c)` keeps x where the comparison with it fails, so with a
 * constant second it is the right answer in one instruction instead of about six.
 */
const extreme =
  (shape: 'f32x4' | 'f64x2', name: 'min' | 'max'): Operator =>
  (vb, [a, b], expr) => {
    const [x, y] = [(a as Value).regs, (b as Value).regs];
    if (isNumber(expr.args[1])) return vb.bin(`${shape}.p${name}`, x, y);
    if (isNumber(expr.args[0])) return vb.bin(`${shape}.p${name}`, y, x);
    return vb.bin(`${shape}.${name}`, x, y);
  };

/** (x > 0) - (x < 0), as a float. */
const floatSign =
  (shape: 'f32x4' | 'f64x2'): Operator =>
  (vb, [a]) => {
    const x = (a as Value).regs;
    const one = shape === 'f32x4' ? vb.f32(1) : vb.f64(1);
    const positive = vb.bin('v128.and', vb.bin(`${shape}.gt`, x, vb.i32(0)), one);
    return vb.bin(
      `${shape}.sub`,
      positive,
      vb.bin('v128.and', vb.bin(`${shape}.lt`, x, vb.i32(0)), one),
    );
  };

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
    return vb.bin(`${shape}.add`, r, vb.bin('v128.and', correct, b));
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

/** Number of places to shift for a constant power of two, else -1. */
function powerOfTwo(expr: Expr | undefined): number {
  if (expr?.kind !== 'const' || expr.value < 1) return -1;
  const places = Math.log2(expr.value);
  return Number.isInteger(places) ? places : -1;
}

const integerOperator =
  (kind: 'i32' | 'i64', name: IntegerFunction): Operator =>
  (vb, args, expr) => {
    const [a] = args as [Value];
    const shape = kind === 'i32' ? 'i32x4' : 'i64x2';
    const second = expr.args[1];
    const places = powerOfTwo(second);
    const width = kind === 'i32' ? 32 : 64;
    if (name === 'floordiv' && places >= 0) return vb.shift(`${shape}.shr_s`, a.regs, places);
    if (name === 'remainder' && places >= 0 && places < 31) {
      return vb.bin(
        'v128.and',
        a.regs,
        kind === 'i32' ? vb.i32(2 ** places - 1) : vb.i64(BigInt(2 ** places - 1)),
      );
    }
    if (
      (name === 'shl' || name === 'shr') &&
      second?.kind === 'const' &&
      second.value >= 0 &&
      second.value < width
    ) {
      return vb.shift(`${shape}.${name === 'shl' ? 'shl' : 'shr_s'}`, a.regs, second.value);
    }
    const callee = integerFunction(name);
    if (kind === 'i64') {
      return eachLane(vb, kind, args, (k, x, y) =>
        call(callee, lane('i64x2.extract_lane', k, x), lane('i64x2.extract_lane', k, y)),
      );
    }
    const extended = (reg: Reg, k: number): Code<'i64'> =>
      op('i64.extend_i32_s', lane('i32x4.extract_lane', k, reg));
    return eachLane(vb, kind, args, (k, x, y) =>
      op('i32.wrap_i64', call(callee, extended(x, k), extended(y, k))),
    );
  };

const identity: Operator = (_vb, [a]) => (a as Value).regs;
const one = (vb: VectorBuilder, shape: 'f32x4' | 'f64x2'): Regs =>
  shape === 'f32x4' ? vb.f32(1) : vb.f64(1);

/** Operations that both float kinds do with one or two vector instructions. */
function floatOperators(shape: 'f32x4' | 'f64x2'): Partial<Record<ScalarOp, Operator>> {
  return {
    add: binary(`${shape}.add`),
    sub: binary(`${shape}.sub`),
    mul: binary(`${shape}.mul`),
    div: binary(`${shape}.div`),
    neg: unary(`${shape}.neg`),
    abs: unary(`${shape}.abs`),
    sign: floatSign(shape),
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

function integerOperators(kind: 'i32' | 'i64'): Partial<Record<ScalarOp, Operator>> {
  const shape = kind === 'i32' ? 'i32x4' : 'i64x2';
  // 64-bit lanes have no minimum and maximum instructions.
  const pick =
    (name: 'gt_s' | 'lt_s'): Operator =>
    (vb, [a, b]) => {
      const [x, y] = [(a as Value).regs, (b as Value).regs];
      return vb.select(vb.bin(`${shape}.${name}`, x, y), x, y);
    };
  const slow: IntegerFunction[] = [
    'floordiv',
    'truncdiv',
    'remainder',
    'fmod',
    'pow',
    'shl',
    'shr',
  ];
  return {
    add: binary(`${shape}.add`),
    sub: binary(`${shape}.sub`),
    mul: binary(`${shape}.mul`),
    neg: unary(`${shape}.neg`),
    abs: unary(`${shape}.abs`),
    square: (vb, [a]) => vb.bin(`${shape}.mul`, (a as Value).regs, (a as Value).regs),
    fma: (vb, [a, b, c]) =>
      vb.bin(
        `${shape}.add`,
        vb.bin(`${shape}.mul`, (a as Value).regs, (b as Value).regs),
        (c as Value).regs,
      ),
    sign: (vb, [a]) => {
      const x = (a as Value).regs;
      return vb.bin(
        `${shape}.sub`,
        vb.bin(`${shape}.lt_s`, x, vb.i32(0)),
        vb.bin(`${shape}.gt_s`, x, vb.i32(0)),
      );
    },
    maximum: pick('gt_s'),
    minimum: pick('lt_s'),
    floor: identity,
    ceil: identity,
    round: identity,
    trunc: identity,
    and: binary('v128.and'),
    or: binary('v128.or'),
    xor: binary('v128.xor'),
    not: unary('v128.not'),
    ...Object.fromEntries(slow.map((name) => [name, integerOperator(kind, name)])),
  };
}

const vectorFunctions = Object.fromEntries(
  Object.entries(FLOAT32_FUNCTIONS).map(([name, emit]): [string, Operator] => [
    name,
    (vb, args) => emit(vb, ...args.map((arg) => arg.regs)),
  ]),
);

const OPERATORS: Readonly<Record<ElementKind, Partial<Record<ScalarOp, Operator>>>> = {
  f32: {
    ...floatOperators('f32x4'),
    floordiv: floatDivision('floor'),
    truncdiv: floatDivision('trunc'),
    fmod: (vb, args) => fmodLanes(vb, 'f32', args),
    remainder: floatRemainder('f32'),
    ...vectorFunctions,
  },
  f64: {
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
  },
  i32: integerOperators('i32'),
  i64: integerOperators('i64'),
  bool: {
    and: binary('v128.and'),
    or: binary('v128.or'),
    xor: binary('v128.xor'),
    not: unary('v128.not'),
    add: binary('v128.or'),
    mul: binary('v128.and'),
    maximum: binary('v128.or'),
    minimum: binary('v128.and'),
  },
};
