/**
 * @file Operations of the loop IR as scalar programs of one operation or two, which are written in place.
 *
 * With them the tables have a row for every operation and every type of operand: an emitter that spells scalar programs
 * spells all of the loop IR's arithmetic. Names are those of the functions: an operation's own for f32, and otherwise
 * with `_f64`, `_int`, `_long` or `_bool`; a function of the same name goes first. What each means is written in
 * `ir/scalar-eval.ts`.
 */
import type { ScalarOp } from '../../ir/expr.js';
import { PREDICATES, SCALAR_ARITY } from '../../ir/scalar-ops.js';
import type { FunctionRow, FunctionTable, FunctionTarget, ScalarType } from './program.js';

/** What an operation on a, b and c is. */
type Texts = Readonly<Partial<Record<ScalarOp, string>>>;

const SUFFIXES = { f32: '', f64: '_f64', i32: '_int', i64: '_long', bool: '_bool' } as const;

/** Types that the loop IR computes in. */
export type ValueType = keyof typeof SUFFIXES;

/** The row of an operation. */
export function rowOf(op: ScalarOp, operand: ScalarType): string {
  return `${op}${SUFFIXES[operand as ValueType]}`;
}

const ORDER: Texts = { lt: 'a < b', le: 'a <= b', gt: 'a > b', ge: 'a >= b' };
const EQUALITY: Texts = { eq: 'a == b', ne: 'a != b' };
const ARITHMETIC: Texts = {
  add: 'a + b',
  sub: 'a - b',
  mul: 'a * b',
  neg: '-a',
  abs: 'abs(a)',
  square: 'a * a',
  fma: 'a * b + c',
  where: 'select(c, b, a)',
};
const BITS: Texts = { and: 'a & b', or: 'a | b' };
/** What rounds to integers leaves them as they are. */
const WHOLE: Texts = { floor: 'a', ceil: 'a', round: 'a', trunc: 'a' };

const FLOATS: Texts = {
  ...ARITHMETIC,
  ...ORDER,
  ...EQUALITY,
  div: 'a / b',
  truncdiv: 'trunc(a / b)',
  reciprocal: '1.0 / a',
  rsqrt: '1.0 / sqrt(a)',
  sqrt: 'sqrt(a)',
  maximum: 'max(a, b)',
  minimum: 'min(a, b)',
  floor: 'floor(a)',
  ceil: 'ceil(a)',
  round: 'round(a)',
  trunc: 'trunc(a)',
  isnan: 'a != a',
};

/** Where NaN and infinity cannot be relied on. */
const GUARDED: Texts = {
  ne: '@differ(a, b)',
  maximum: '@max(a, b)',
  minimum: '@min(a, b)',
  isnan: '@is_nan(a)',
};

const INTEGERS: Texts = {
  ...ARITHMETIC,
  ...ORDER,
  ...EQUALITY,
  ...BITS,
  ...WHOLE,
  maximum: 'max(a, b)',
  minimum: 'min(a, b)',
  within: '(a >= 0) & (a < b)',
  xor: 'a ^ b',
  not: '~a',
};

const signOf = (type: 'i32' | 'i64'): string =>
  `select(${type}(0), 1, a > 0) - select(${type}(0), 1, a < 0)`;

const BOOLS: Texts = {
  ...BITS,
  ...WHOLE,
  ...EQUALITY,
  add: 'a | b',
  sub: 'a != b',
  mul: 'a & b',
  neg: 'a',
  abs: 'a',
  sign: 'a',
  square: 'a',
  fma: '(a & b) | c',
  maximum: 'a | b',
  minimum: 'a & b',
  lt: '!a & b',
  le: '!a | b',
  gt: 'a & !b',
  ge: 'a | !b',
  xor: 'a != b',
  not: '!a',
  where: 'select(c, b, a)',
};

function program(op: ScalarOp, type: ValueType, text: string): string {
  const params = ['a', 'b', 'c'].slice(0, SCALAR_ARITY[op]);
  const declared = params.map(
    (name) => `${name}: ${op === 'where' && name === 'a' ? 'bool' : type}`,
  );
  const result = PREDICATES.has(op) ? 'bool' : type;
  return `fn ${rowOf(op, type)}(${declared.join(', ')}) -> ${result} { return ${text}; }`;
}

function rows(type: ValueType, texts: Texts, guarded: Texts = {}): FunctionTable {
  const row = ([op, text]: [string, string]): [string, FunctionRow] => {
    const other = guarded[op as ScalarOp] ?? text;
    const chosen = ({ ieee }: FunctionTarget): string => (ieee ? text : other);
    return [
      rowOf(op as ScalarOp, type),
      { inPlace: true, text: (target) => program(op as ScalarOp, type, chosen(target)) },
    ];
  };
  return Object.fromEntries(Object.entries(texts).map(row));
}

/** See the file header. */
export const OPERATIONS: FunctionTable = {
  ...rows('f32', { ...FLOATS, isinf: '@is_inf(a)' }, GUARDED),
  ...rows('i32', { ...INTEGERS, sign: signOf('i32') }),
  ...rows('bool', BOOLS),
};

/** The same of 64 bits. */
export const OPERATIONS_64: FunctionTable = {
  ...rows('f64', { ...FLOATS, isinf: 'abs(a) == @inf64()' }),
  ...rows('i64', { ...INTEGERS, sign: signOf('i64') }),
};
