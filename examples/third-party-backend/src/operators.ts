/**
 * @file One operation of the loop IR as a JavaScript expression.
 *
 * Values of int64 are bigints, bools are 0 and 1, all others numbers in the range of their type.
 */
import type * as core from '@tessera/inductor-core';
import { type Functions, rounded } from './functions.js';

type DType = core.Expr['dtype'];
/** How a value is held. */
type Held = 'f32' | 'f64' | 'i32' | 'i64' | 'bool';

const HELD: Readonly<Partial<Record<DType, Held>>> = {
  float32: 'f32',
  float64: 'f64',
  int64: 'i64',
  bool: 'bool',
};

/** How values of a dtype are held; narrow integers are numbers too. */
export function held(dtype: DType): Held {
  return HELD[dtype] ?? 'i32';
}

const INFIX: Readonly<Record<string, string>> = { add: '+', sub: '-', mul: '*', div: '/' };
const COMPARISONS: Readonly<Record<string, string>> = {
  eq: '===',
  ne: '!==',
  lt: '<',
  le: '<=',
  gt: '>',
  ge: '>=',
};
const BITS: Readonly<Record<string, string>> = { and: '&', or: '|', xor: '^' };
/** What bools do instead: true is 1. */
const LOGIC: Readonly<Record<string, string>> = { add: '|', mul: '&', maximum: '|', minimum: '&' };
const SUFFIX: Readonly<Record<Held, string>> = {
  f32: '',
  f64: '_f64',
  i32: '_int',
  i64: '_long',
  bool: '_int',
};

/** A number as JavaScript writes it. */
export function constant(dtype: DType, value: number): string {
  if (held(dtype) === 'f32') return number(Math.fround(value));
  if (held(dtype) !== 'i64') return number(value);
  return `${value >= 2 ** 63 ? 2n ** 63n - 1n : BigInt(Math.trunc(value))}n`;
}

function number(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}

/** A value in another type: floats truncate, integers wrap. */
export function cast(from: DType, to: DType, text: string): string {
  if (from === to) return text;
  const [a, b] = [held(from), held(to)];
  if (b === 'f32' || b === 'f64') return rounded(b, `Number(${text})`);
  if (b === 'bool') return `+(${text} != 0)`;
  const isFloat = a === 'f32' || a === 'f64';
  if (b === 'i64') return isFloat ? `toLong(${text})` : a === 'i64' ? text : `BigInt(${text})`;
  const whole = a === 'i64' ? `Number(BigInt.asIntN(32, ${text}))` : `(${text} | 0)`;
  if (to === 'int16') return `((${whole} << 16) >> 16)`;
  if (to === 'int8') return `((${whole} << 24) >> 24)`;
  return to === 'uint8' ? `(${whole} & 255)` : whole;
}

/** The text of an operation, given those of its operands. @throws kernel-missing */
export function operation(
  expr: Extract<core.Expr, { kind: 'op' }>,
  args: readonly string[],
  functions: Functions,
): string {
  const { op, dtype } = expr;
  const [a, b, c] = args as [string, string, string];
  const operand = expr.args[0]!.dtype;
  const type = held(dtype);
  const isFloat = type === 'f32' || type === 'f64';
  if (op in COMPARISONS) return `+(${a} ${COMPARISONS[op]} ${b})`;
  if (op in BITS) return `(${a} ${BITS[op]} ${b})`;
  if (type === 'bool' && op in LOGIC) return `(${a} ${LOGIC[op]} ${b})`;
  if (op === 'mul' && type === 'i32') return `Math.imul(${a}, ${b})`;
  if (op in INFIX) return rounded(type, `${a} ${INFIX[op]} ${b}`);
  switch (op) {
    case 'where':
      return `(${a} ? ${b} : ${c})`;
    case 'cast':
      return cast(operand, dtype, a);
    case 'within':
      return `+(0 <= ${a} && ${a} < ${b})`;
    case 'isnan':
      return `+Number.isNaN(${a})`;
    case 'isinf':
      return `+(${a} === Infinity || ${a} === -Infinity)`;
    case 'not':
      return type === 'bool' ? `(1 - ${a})` : `~${a}`;
    case 'neg':
      return rounded(type, `-${a}`);
    case 'square':
      return type === 'i32' ? `Math.imul(${a}, ${a})` : rounded(type, `${a} * ${a}`);
    case 'fma':
      return rounded(type, `${a} * ${b} + ${c}`);
    case 'reciprocal':
      return rounded(type, `1 / ${a}`);
    case 'rsqrt':
      return rounded(type, `1 / Math.sqrt(${a})`);
    case 'sqrt':
      return rounded(type, `Math.sqrt(${a})`);
    case 'abs':
      return type === 'i64'
        ? rounded(type, `${a} < 0n ? -${a} : ${a}`)
        : rounded(type, `Math.abs(${a})`);
    case 'maximum':
    case 'minimum': {
      const larger = op === 'maximum';
      return isFloat
        ? `Math.${larger ? 'max' : 'min'}(${a}, ${b})`
        : `(${a} ${larger ? '>' : '<'} ${b} ? ${a} : ${b})`;
    }
    case 'floor':
    case 'ceil':
    case 'trunc':
      return isFloat ? `Math.${op}(${a})` : a;
    case 'round':
      return isFloat ? `roundEven(${a})` : a;
    case 'sign': {
      const sign = `(${a} > 0) - (${a} < 0)`;
      return type === 'i64' ? `BigInt(${sign})` : `(${sign})`;
    }
    default:
      return `${functions.use(`${op}${SUFFIX[type]}`)}(${args.join(', ')})`;
  }
}
