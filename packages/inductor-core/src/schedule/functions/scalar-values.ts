/**
 * @file Values of the loop IR as scalar expressions: operations, conversions, constants.
 *
 * For targets that compute int64 in 64 bits, and whose functions include `OPERATIONS`.
 */
import type { DType } from '@tessera/tensor';
import type { Expr } from '../../ir/expr.js';
import { functionProgram } from './function-table.js';
import { rowOf, type ValueType } from './operations.js';
import type { BinaryOperator, FunctionTarget, ScalarExpr } from './program.js';

const TYPES: Readonly<Partial<Record<DType, ValueType>>> = {
  float32: 'f32',
  float16: 'f32',
  bfloat16: 'f32',
  float64: 'f64',
  int64: 'i64',
  bool: 'bool',
};

/** The type that values of an element type are computed in. */
export function valueType(dtype: DType): ValueType {
  return TYPES[dtype] ?? 'i32';
}

/** A value under a name that the emitter gave it. */
export function namedValue(dtype: DType, name: string): ScalarExpr {
  return { kind: 'name', type: valueType(dtype), name };
}

/** A number as a value of an element type; floats may be infinite, or NaN. */
export function constantValue(dtype: DType, value: number): ScalarExpr {
  const type = valueType(dtype);
  return { kind: 'number', type, value, text: type === 'i64' ? longText(value) : String(value) };
}

/** All digits, of the nearest number that there is in 64 bits. */
function longText(value: number): string {
  return String(value >= 2 ** 63 ? 2n ** 63n - 1n : BigInt(Math.trunc(value)));
}

const integer = (type: 'i32' | 'u32' | 'i64', value: number): ScalarExpr => ({
  kind: 'number',
  type,
  value,
  text: `${value}${type === 'u32' ? 'u' : ''}`,
});

function binary(op: BinaryOperator, left: ScalarExpr, right: ScalarExpr): ScalarExpr {
  return { kind: 'binary', type: op === '!=' ? 'bool' : left.type, op, left, right };
}

/** Brings a value that is computed in the type of an element type into its range, and to its precision. */
function narrowed(value: ScalarExpr, dtype: DType): ScalarExpr {
  const wrapped = (bits: number): ScalarExpr => {
    const count = integer('u32', bits);
    return binary('>>', binary('<<', value, count), count);
  };
  switch (dtype) {
    case 'int16':
      return wrapped(16);
    case 'int8':
      return wrapped(24);
    case 'uint8':
      return binary('&', value, integer('i32', 255));
    case 'float16':
      return { kind: 'call', type: 'f32', callee: 'round_f16', args: [value] };
    case 'bfloat16':
      return { kind: 'call', type: 'f32', callee: 'round_bf16', args: [value] };
    default:
      return value;
  }
}

/** A conversion: floats truncate, integers wrap, and what is not zero is true. */
export function castValue(value: ScalarExpr, from: DType, to: DType): ScalarExpr {
  if (from === to) return value;
  const [source, type] = [valueType(from), valueType(to)];
  if (type === 'bool' && source === 'f32')
    return { kind: 'call', type, callee: 'truth', args: [value] };
  if (type === 'bool') return binary('!=', value, constantValue(from, 0));
  return narrowed(source === type ? value : { kind: 'convert', type, arg: value }, to);
}

/** A random number, from its seed and offset (values of int64), and the text of its index. */
export function drawnValue(
  { distribution }: Extract<Expr, { kind: 'random' }>,
  seedAndOffset: readonly ScalarExpr[],
  index: string,
): ScalarExpr {
  const args = [...seedAndOffset, namedValue('int32', index)].map((arg): ScalarExpr => ({
    kind: 'convert',
    type: 'u32',
    arg,
  }));
  return { kind: 'call', type: 'f32', callee: distribution, args };
}

/** A short program with values for its parameters. */
function inPlace(name: string, args: readonly ScalarExpr[], target: FunctionTarget): ScalarExpr {
  const { params, body } = functionProgram(name, target);
  const given = new Map(params.map((param, i) => [param.name, args[i]!]));
  const replaced = (expr: ScalarExpr): ScalarExpr => {
    switch (expr.kind) {
      case 'name':
        return given.get(expr.name)!;
      case 'unary':
        return { ...expr, arg: replaced(expr.arg) };
      case 'binary':
        return { ...expr, left: replaced(expr.left), right: replaced(expr.right) };
      case 'builtin':
      case 'call':
        return { ...expr, args: expr.args.map(replaced) };
      default:
        return expr;
    }
  };
  return replaced((body[0] as Extract<(typeof body)[number], { kind: 'return' }>).value);
}

/**
 * One operation of values; they should be names and numbers, because some are written more than once.
 *
 * @throws kernel-missing when the operation has no meaning for its operands
 */
export function operationValue(
  { op, dtype, args: operands }: Extract<Expr, { kind: 'op' }>,
  args: readonly ScalarExpr[],
  target: FunctionTarget,
): ScalarExpr {
  if (op === 'cast') return castValue(args[0]!, operands[0]!.dtype, dtype);
  const name = rowOf(op, args[op === 'where' ? 1 : 0]!.type);
  if (target.functions[name]?.inPlace === true) return inPlace(name, args, target);
  const { result } = functionProgram(name, target);
  return { kind: 'call', type: result, callee: name, args };
}
