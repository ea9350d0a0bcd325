/**
 * @file Operations on integers and bools. Division and powers have no vector instructions and are functions of
 * inductor-core's table; constant powers of two become shifts and masks.
 */
import type { Expr, ScalarOp } from '@tessera/inductor-core';
import { binary, unary, type Operator, type Operators } from './operator.js';
import { tableOperators } from './table-operators.js';
import { shiftLeft, shiftRight } from './variable-shifts.js';

/** Number of places to shift for a constant power of two, else -1. */
function powerOfTwo(expr: Expr | undefined): number {
  if (expr?.kind !== 'const' || expr.value < 1) return -1;
  const places = Math.log2(expr.value);
  return Number.isInteger(places) ? places : -1;
}

/** Functions of the table, which divide, multiply or shift by the values of elements. */
const FUNCTIONS = [
  'floordiv',
  'truncdiv',
  'remainder',
  'fmod',
  'pow',
  'gcd',
  'shl',
  'shr',
] as const satisfies readonly ScalarOp[];

/** What a division or shift by a constant takes one instruction for; others are functions of the table. */
const byConstant =
  (kind: 'i32' | 'i64', name: ScalarOp, general: Operator): Operator =>
  (vb, args, expr) => {
    const { regs } = args[0];
    const shape = kind === 'i32' ? 'i32x4' : 'i64x2';
    const second = expr.args[1];
    const places = powerOfTwo(second);
    const width = kind === 'i32' ? 32 : 64;
    if (name === 'floordiv' && places >= 0) return vb.shift(`${shape}.shr_s`, regs, places);
    if (name === 'remainder' && places >= 0 && places < 31) {
      const mask = kind === 'i32' ? vb.i32(2 ** places - 1) : vb.i64(BigInt(2 ** places - 1));
      return vb.bin('v128.and', regs, mask);
    }
    const isShift = name === 'shl' || name === 'shr';
    if (isShift && second?.kind === 'const' && second.value >= 0 && second.value < width)
      return vb.shift(`${shape}.${name === 'shl' ? 'shl' : 'shr_s'}`, regs, second.value);
    return general(vb, args, expr);
  };

/** Shifts of 32-bit lanes by counts of their own. */
const SHIFTS: Readonly<Record<string, Operator>> = { shl: shiftLeft, shr: shiftRight };

const identity: Operator = (_vb, [a]) => a.regs;

/** Operators of an integer kind. */
export function integerOperators(kind: 'i32' | 'i64'): Operators {
  const shape = kind === 'i32' ? 'i32x4' : 'i64x2';
  // 64-bit lanes have no minimum and maximum instructions.
  const pick =
    (name: 'gt_s' | 'lt_s'): Operator =>
    (vb, [a, b]) => {
      const [x, y] = [a.regs, b.regs];
      return vb.select(vb.bin(`${shape}.${name}`, x, y), x, y);
    };
  const functions = Object.entries(tableOperators(FUNCTIONS, kind === 'i32' ? '_int' : '_long'));
  return {
    add: binary(`${shape}.add`),
    sub: binary(`${shape}.sub`),
    mul: binary(`${shape}.mul`),
    neg: unary(`${shape}.neg`),
    abs: unary(`${shape}.abs`),
    square: (vb, [a]) => vb.bin(`${shape}.mul`, a.regs, a.regs),
    fma: (vb, [a, b, c]) => vb.bin(`${shape}.add`, vb.bin(`${shape}.mul`, a.regs, b.regs), c.regs),
    sign: (vb, [a]) => {
      const x = a.regs;
      return vb.bin(
        `${shape}.sub`,
        vb.bin(`${shape}.lt_s`, x, vb.i32(0)),
        vb.bin(`${shape}.gt_s`, x, vb.i32(0)),
      );
    },
    maximum: kind === 'i32' ? binary('i32x4.max_s') : pick('gt_s'),
    minimum: kind === 'i32' ? binary('i32x4.min_s') : pick('lt_s'),
    floor: identity,
    ceil: identity,
    round: identity,
    trunc: identity,
    and: binary('v128.and'),
    or: binary('v128.or'),
    xor: binary('v128.xor'),
    not: unary('v128.not'),
    ...Object.fromEntries(
      functions.map(([name, general]) => [
        name,
        byConstant(kind, name as ScalarOp, (kind === 'i32' ? SHIFTS[name] : undefined) ?? general),
      ]),
    ),
  };
}

/** Operators of bool: masks. */
export const BOOL_OPERATORS: Operators = {
  and: binary('v128.and'),
  or: binary('v128.or'),
  xor: binary('v128.xor'),
  not: unary('v128.not'),
  add: binary('v128.or'),
  mul: binary('v128.and'),
  maximum: binary('v128.or'),
  minimum: binary('v128.and'),
};
