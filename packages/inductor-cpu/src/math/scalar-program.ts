/**
 * @file Scalar programs of inductor-core's table as WebAssembly functions of scalars: those that branch by value,
 * index arrays or divide integers, which vectors cannot.
 *
 * A bool is an i32, a pair an i64 with its second word above the first. Integer division of the least number by -1
 * wraps, because a vector's unused lanes hold anything and kernels must not trap.
 */
import {
  functionProgram,
  SCALAR_FUNCTIONS_64,
  type FunctionTarget,
  type ScalarExpr,
  type ScalarStatement,
  type ScalarType,
} from '@tessera/inductor-core';
import { call, f32, f64, i32, i64, op, select } from '../emit/code.js';
import type { Code, DefinedFunction, Local, ValType } from '../emit/types.js';
import { WasmFunction } from '../emit/wasm-function.js';
import { hostFunction, isHostFunction } from './host-functions.js';

/** WebAssembly's arithmetic is as IEEE 754 has it, in 64 bits too. */
export const WASM: FunctionTarget = { ieee: true, functions: SCALAR_FUNCTIONS_64 };

/** One kind of expression. */
export type Typed<K extends ScalarExpr['kind']> = Extract<ScalarExpr, { kind: K }>;

const VALUE_TYPES: Readonly<Record<ScalarType, ValType>> = {
  bool: 'i32',
  i32: 'i32',
  u32: 'i32',
  i64: 'i64',
  pair: 'i64',
  f32: 'f32',
  f64: 'f64',
};
/** Words of instructions for operators. */
export const OPERATORS = {
  '+': 'add',
  '-': 'sub',
  '*': 'mul',
  '/': 'div',
  '%': 'rem',
  '&': 'and',
  '|': 'or',
  '^': 'xor',
  '<<': 'shl',
  '>>': 'shr',
  '==': 'eq',
  '!=': 'ne',
  '<': 'lt',
  '<=': 'le',
  '>': 'gt',
  '>=': 'ge',
} as const;

/** An operator of two operands. */
export type Operator = keyof typeof OPERATORS;

/** Integer instructions that come for signed and unsigned numbers. */
const SIGNED = new Set(['div', 'rem', 'shr', 'lt', 'le', 'gt', 'ge']);
/** From one type to another; a pair that is missing needs no instruction. */
const CONVERSIONS: Readonly<Record<string, string>> = {
  'f32 i32': 'i32.trunc_sat_f32_s',
  'f32 u32': 'i32.trunc_sat_f32_u',
  'f32 f64': 'f64.promote_f32',
  'f64 f32': 'f32.demote_f64',
  'f64 i64': 'i64.trunc_sat_f64_s',
  'i32 f32': 'f32.convert_i32_s',
  'u32 f32': 'f32.convert_i32_u',
  'i32 f64': 'f64.convert_i32_s',
  'u32 f64': 'f64.convert_i32_u',
  'i64 f64': 'f64.convert_i64_s',
  'i32 i64': 'i64.extend_i32_s',
  'u32 i64': 'i64.extend_i32_u',
  'i64 i32': 'i32.wrap_i64',
  'i64 u32': 'i32.wrap_i64',
};

/** An instruction whose name is put together. */
const plain = op as (name: string, ...args: Code[]) => Code<ValType>;

type ScalarFunction = DefinedFunction & { readonly result: ValType };

class ScalarEmitter {
  readonly #names = new Map<string, Local>();
  readonly #arrays = new Map<string, readonly number[]>();

  constructor(private readonly f: WasmFunction<ValType>) {
    for (const param of f.params) this.#names.set(param.name, param);
  }

  block(statements: readonly ScalarStatement[]): void {
    for (const statement of statements) this.#statement(statement);
  }

  #statement(statement: ScalarStatement): void {
    const { f } = this;
    switch (statement.kind) {
      case 'let':
      case 'var':
        this.#names.set(statement.name, f.let(statement.name, this.#value(statement.value)));
        return;
      case 'set':
        f.set(this.#names.get(statement.name)!, this.#value(statement.value));
        return;
      case 'array':
        this.#arrays.set(statement.name, statement.items);
        return;
      case 'if':
        f.if(
          this.#test(statement.condition),
          () => this.block(statement.then),
          () => this.block(statement.otherwise),
        );
        return;
      case 'while':
        f.while(
          () => this.#test(statement.condition),
          () => this.block(statement.body),
        );
        return;
      case 'return':
        f.return(this.#value(statement.value));
    }
  }

  /** A condition or an index. */
  #test(expr: ScalarExpr): Code<'i32'> {
    return this.#value(expr) as Code<'i32'>;
  }

  #value(expr: ScalarExpr): Code<ValType> {
    switch (expr.kind) {
      case 'number':
        return numberCode(expr);
      case 'name':
        return this.#names.get(expr.name)!;
      case 'item':
        return this.#item(expr);
      case 'part': {
        const pair = this.#value(expr.of);
        return plain('i32.wrap_i64', expr.part === 'x' ? pair : plain('i64.shr_u', pair, i64(32)));
      }
      case 'unary': {
        const value = this.#value(expr.arg);
        if (expr.op === '!') return plain('i32.eqz', value);
        if (expr.op === '~') return plain(`${value.type}.xor`, value, integer(value.type, -1));
        return value.type === 'f32' || value.type === 'f64'
          ? plain(`${value.type}.neg`, value)
          : plain(`${value.type}.sub`, integer(value.type, 0), value);
      }
      case 'binary':
        return this.#binary(expr);
      case 'builtin':
        return this.#builtin(expr);
      case 'convert': {
        const name = CONVERSIONS[`${expr.arg.type} ${expr.type}`];
        const value = this.#value(expr.arg);
        return name === undefined ? value : plain(name, value);
      }
      case 'bitcast': {
        const value = this.#value(expr.arg);
        const type = VALUE_TYPES[expr.type];
        return type === value.type ? value : plain(`${type}.reinterpret_${value.type}`, value);
      }
      case 'call':
        return this.#call(
          expr.callee,
          expr.args.map((arg) => this.#value(arg)),
        );
    }
  }

  /** A straight program stands in place, because engines may not inline calls; another one is called. */
  #call(callee: string, args: readonly Code<ValType>[]): Code<ValType> {
    const { params, body } = functionProgram(callee, WASM);
    const isStraight = body.every(({ kind }) => kind === 'let' || kind === 'return');
    if (!isStraight) return call(scalarFunction(callee), ...args);
    const inside = new ScalarEmitter(this.f);
    params.forEach(({ name }, i) => inside.#names.set(name, this.f.let(name, args[i]!)));
    inside.block(body.slice(0, -1));
    return inside.#value((body.at(-1) as Extract<ScalarStatement, { kind: 'return' }>).value);
  }

  /** An element of a small table, chosen by comparing. */
  #item({ array, index }: Typed<'item'>): Code<'i32'> {
    const at = this.f.let('at', this.#test(index));
    const [first, ...others] = this.#arrays.get(array)!;
    return others.reduce<Code<'i32'>>(
      (found, item, i) => select(i32(item), found, op('i32.eq', at, i32(i + 1))),
      i32(first!),
    );
  }

  #binary({ op: name, left, right }: Typed<'binary'>): Code<ValType> {
    const [a, b] = [this.#value(left), this.#value(right)];
    const { type } = a;
    const isInteger = type === 'i32' || type === 'i64';
    const word = OPERATORS[name];
    if (word === 'shl' || word === 'shr') {
      const count = type === 'i64' ? plain('i64.extend_i32_u', b) : b;
      return plain(`${type}.${word}${word === 'shl' ? '' : signOf(left)}`, a, count);
    }
    if (word === 'div' && isInteger && left.type !== 'u32') return this.#divide(a, b);
    const sign = isInteger && SIGNED.has(word) ? signOf(left) : '';
    return plain(`${type}.${word}${sign}`, a, b);
  }

  /** A division that wraps where it would trap. */
  #divide(a: Code<ValType>, b: Code<ValType>): Code<ValType> {
    const { type } = a;
    const { f } = this;
    const [x, y, quotient] = [f.let('dividend', a), f.let('divisor', b), f.local(type, 'quotient')];
    f.if(
      plain(`${type}.eq`, y, integer(type, -1)) as Code<'i32'>,
      () => f.set(quotient, plain(`${type}.sub`, integer(type, 0), x)),
      () => f.set(quotient, plain(`${type}.div_s`, x, y)),
    );
    return quotient;
  }

  #builtin({ name, args, type }: Typed<'builtin'>): Code<ValType> {
    const values = args.map((arg) => this.#value(arg));
    const [a, b, c] = values;
    const valueType = VALUE_TYPES[type];
    const isInteger = valueType === 'i32' || valueType === 'i64';
    if (isHostFunction(name)) return call(hostFunction(name), ...values);
    switch (name) {
      case 'any':
        return a;
      case 'select':
        return select(b, a, c as Code<'i32'>);
      case 'pair': {
        const words = [a, b].map((word) => plain('i64.extend_i32_u', word));
        return plain('i64.or', words[0]!, plain('i64.shl', words[1]!, i64(32)));
      }
      case 'countLeadingZeros':
        return plain('i32.clz', a);
      case 'round':
        return plain(`${valueType}.nearest`, a);
      case 'clamp':
        return plain(`${valueType}.min`, plain(`${valueType}.max`, a, b), c);
      case 'abs':
      case 'min':
      case 'max': {
        if (!isInteger) return plain(`${valueType}.${name}`, ...values);
        const x = this.f.let('x', a);
        const y = name === 'abs' ? plain(`${valueType}.sub`, integer(valueType, 0), x) : values[1]!;
        const other = this.f.let('y', y);
        const sign = type === 'u32' ? '_u' : '_s';
        const order = plain(`${valueType}.${name === 'min' ? 'lt' : 'gt'}${sign}`, x, other);
        return select<ValType>(x, other, order as Code<'i32'>);
      }
      default:
        return plain(`${valueType}.${name}`, a);
    }
  }
}

function signOf(expr: ScalarExpr): '_s' | '_u' {
  return expr.type === 'u32' ? '_u' : '_s';
}

function integer(type: ValType, value: number): Code<ValType> {
  return type === 'i64' ? i64(value) : i32(value);
}

function numberCode({ type, value, text }: Typed<'number'>): Code<ValType> {
  if (type === 'f32') return f32(value);
  if (type === 'f64') return f64(value);
  return type === 'i64' ? i64(BigInt(text)) : i32(value);
}

const made = new Map<string, ScalarFunction>();

/** The program as a function of scalars. @throws kernel-missing when there is no such function */
export function scalarFunction(name: string): ScalarFunction {
  let found = made.get(name);
  if (found === undefined) {
    const { params, result, body } = functionProgram(name, WASM);
    const types = Object.fromEntries(params.map((p) => [p.name, VALUE_TYPES[p.type]]));
    const f = new WasmFunction<ValType>(name, types, VALUE_TYPES[result]);
    new ScalarEmitter(f).block(body);
    found = f;
    made.set(name, found);
  }
  return found;
}
