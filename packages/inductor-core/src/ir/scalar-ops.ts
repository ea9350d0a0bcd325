/**
 * @file Facts about each `ScalarOp`: operands, whether it is a test, whether it may overflow, whether it is costly.
 */
import type { DType } from '@tessera/tensor';
import type { ScalarOp } from './expr.js';

/** Number of operands of each operation. */
export const SCALAR_ARITY: Readonly<Record<ScalarOp, number>> = {
  add: 2,
  sub: 2,
  mul: 2,
  div: 2,
  floordiv: 2,
  truncdiv: 2,
  remainder: 2,
  fmod: 2,
  neg: 1,
  abs: 1,
  sign: 1,
  reciprocal: 1,
  square: 1,
  maximum: 2,
  minimum: 2,
  fma: 3,
  gcd: 2,
  copysign: 2,
  nextafter: 2,
  floor: 1,
  ceil: 1,
  round: 1,
  trunc: 1,
  sqrt: 1,
  rsqrt: 1,
  exp: 1,
  exp2: 1,
  expm1: 1,
  log: 1,
  log2: 1,
  log1p: 1,
  pow: 2,
  sin: 1,
  cos: 1,
  tan: 1,
  asin: 1,
  acos: 1,
  atan: 1,
  atan2: 2,
  sinh: 1,
  cosh: 1,
  tanh: 1,
  sigmoid: 1,
  erf: 1,
  eq: 2,
  ne: 2,
  lt: 2,
  le: 2,
  gt: 2,
  ge: 2,
  within: 2,
  isnan: 1,
  isinf: 1,
  and: 2,
  or: 2,
  xor: 2,
  not: 1,
  shl: 2,
  shr: 2,
  where: 3,
  cast: 1,
};

/** Operations whose result is bool whatever they compare. */
export const PREDICATES: ReadonlySet<ScalarOp> = new Set<ScalarOp>([
  'eq',
  'ne',
  'lt',
  'le',
  'gt',
  'ge',
  'within',
  'isnan',
  'isinf',
]);

/** Functions of floats beyond arithmetic and roots. */
export const TRANSCENDENTAL_OPS: readonly ScalarOp[] = [
  'exp',
  'exp2',
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
  'atan2',
  'sinh',
  'cosh',
  'tanh',
  'sigmoid',
  'erf',
];

/** Operations that only floats have. */
export const FLOAT_OPS: ReadonlySet<ScalarOp> = new Set<ScalarOp>([
  'div',
  'reciprocal',
  'fma',
  'copysign',
  'nextafter',
  'sqrt',
  'rsqrt',
  ...TRANSCENDENTAL_OPS,
  'isnan',
  'isinf',
]);

/** Operations that only integers and bools have. */
export const INTEGER_OPS: ReadonlySet<ScalarOp> = new Set<ScalarOp>([
  'gcd',
  'and',
  'or',
  'xor',
  'not',
  'shl',
  'shr',
]);

/** Integer types that are computed in a wider one. */
export const NARROW_INTEGERS: ReadonlySet<DType> = new Set<DType>(['int8', 'int16', 'uint8']);

/** Operations on integers whose result may be out of the range of the operands' type. */
export const OVERFLOWING_OPS: ReadonlySet<ScalarOp> = new Set<ScalarOp>([
  'add',
  'sub',
  'mul',
  'floordiv',
  'truncdiv',
  'neg',
  'abs',
  'square',
  'fma',
  'gcd',
  'pow',
  'not',
  'shl',
]);

/** Operations that cost tens of instructions: not worth computing twice. */
export const EXPENSIVE_OPS: ReadonlySet<ScalarOp> = new Set<ScalarOp>([
  ...TRANSCENDENTAL_OPS,
  'pow',
  'gcd',
  'fmod',
  'remainder',
  'floordiv',
  'truncdiv',
]);
