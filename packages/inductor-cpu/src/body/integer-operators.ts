/**
 * @file Operations on integers and bools. Division, powers and shifts by variable amounts have no vector
 * instructions and go lane by lane; constant powers of two become shifts and masks.
 */
import type { Expr } from '@tessera/inductor-core';
import { call, lane, op } from '../emit/code.js';
import type { Code } from '../emit/types.js';
import { binary, eachLane, unary, type Operator, type Operators } from './operator.js';
import { integerFunction, type IntegerFunction } from './scalar-functions.js';
import type { Value } from './value.js';
import type { Reg } from './vector-builder.js';

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

/** Operators of an integer kind. */
export function integerOperators(kind: 'i32' | 'i64'): Operators {
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
    'gcd',
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
    ...Object.fromEntries(slow.map((name) => [name, integerOperator(kind, name)])),
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
