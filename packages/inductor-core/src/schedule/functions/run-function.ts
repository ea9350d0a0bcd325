/**
 * @file Runs scalar programs: every operation rounded as its type is, so results are those of a target that
 * neither fuses nor flushes. The reference that emitters are compared with.
 */
import { functionProgram } from './function-table.js';
import type {
  Builtin,
  FunctionTarget,
  HostFunction,
  ScalarExpr,
  ScalarStatement,
  ScalarType,
} from './program.js';

/** A value; bools are 0 and 1, i64 are bigints, and so are pairs, whose second word has the upper bits. */
type Value = number | bigint;

const words = new DataView(new ArrayBuffer(8));

/** The nearest number of a type. */
function round(type: ScalarType, value: number | bigint): number | bigint {
  if (type === 'i64') return BigInt.asIntN(64, BigInt(value));
  if (type === 'f32') return Math.fround(Number(value));
  if (type === 'u32') return Number(value) >>> 0;
  return type === 'i32' ? Number(value) | 0 : Number(value);
}

function bitcast(value: number | bigint, from: ScalarType, to: ScalarType): number | bigint {
  const number = Number(value);
  if (from === 'f32') words.setFloat32(0, number);
  else if (from === 'f64') words.setFloat64(0, number);
  else if (from === 'i64') words.setBigInt64(0, BigInt(value));
  else words.setUint32(0, number >>> 0);
  if (to === 'f32') return words.getFloat32(0);
  if (to === 'f64') return words.getFloat64(0);
  if (to === 'i64') return words.getBigInt64(0);
  return to === 'i32' ? words.getInt32(0) : words.getUint32(0);
}

/** Conversion of a float to an integer saturates; NaN gives 0. */
function convert(value: number | bigint, to: ScalarType): number | bigint {
  if (typeof value === 'bigint') return round(to, to === 'i32' ? BigInt.asIntN(32, value) : value);
  const limit = to === 'i32' ? 2 ** 31 : 2 ** 63;
  const whole = Math.min(Math.max(Math.trunc(value) || 0, -limit), limit);
  if (to === 'i32') return Math.min(whole, 2 ** 31 - 1) | 0;
  if (to === 'i64') return whole === limit ? 2n ** 63n - 1n : BigInt(whole);
  return round(to, to === 'u32' ? Math.trunc(value) || 0 : value);
}

function roundEven(x: number): number {
  if (Math.abs(x) >= 2 ** 23 || !Number.isFinite(x)) return x;
  const below = Math.floor(x);
  const up = x - below > 0.5 || (x - below === 0.5 && below % 2 !== 0);
  const nearest = up ? below + 1 : below;
  return nearest === 0 && (x < 0 || Object.is(x, -0)) ? -0 : nearest;
}

type NumberBuiltin = Exclude<Builtin, 'pair' | HostFunction>;

type NumberFunction = (...args: number[]) => number;

const BUILTINS: Readonly<Record<string, NumberFunction>> = {
  abs: Math.abs,
  any: (x) => x,
  ceil: Math.ceil,
  clamp: (x, low, high) => Math.min(Math.max(x, low), high),
  countLeadingZeros: Math.clz32,
  floor: Math.floor,
  max: Math.max,
  min: Math.min,
  round: roundEven,
  select: (a, b, condition) => (condition === 0 ? a : b),
  sqrt: Math.sqrt,
  trunc: Math.trunc,
} satisfies Readonly<Record<NumberBuiltin, NumberFunction>>;

/** The same of i64. */
const LONG_BUILTINS: Readonly<Record<string, (...args: bigint[]) => bigint>> = {
  abs: (x) => (x < 0n ? -x : x),
  max: (x, y) => (x > y ? x : y),
  min: (x, y) => (x < y ? x : y),
  select: (a, b, condition) => (Number(condition) === 0 ? a : b),
};

function longArithmetic(op: string, a: bigint, b: bigint): bigint | number {
  switch (op) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return a * b;
    case '/':
      return a / b;
    case '%':
      return a % b;
    case '&':
      return a & b;
    case '|':
      return a | b;
    case '^':
      return a ^ b;
    case '<<':
      return a << b;
    case '>>':
      return a >> b;
    case '==':
      return Number(a === b);
    case '!=':
      return Number(a !== b);
    case '<':
      return Number(a < b);
    case '<=':
      return Number(a <= b);
    case '>':
      return Number(a > b);
    default:
      return Number(a >= b);
  }
}

function arithmetic(op: string, a: number, b: number, type: ScalarType): number {
  switch (op) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return type === 'f32' || type === 'f64' ? a * b : Math.imul(a, b);
    case '/':
      return type === 'f32' || type === 'f64' ? a / b : Math.trunc(a / b);
    case '%':
      return a % b;
    case '&':
      return a & b;
    case '|':
      return a | b;
    case '^':
      return a ^ b;
    case '<<':
      return a << b;
    case '>>':
      return type === 'u32' ? a >>> b : a >> b;
    case '==':
      return Number(a === b);
    case '!=':
      return Number(a !== b);
    case '<':
      return Number(a < b);
    case '<=':
      return Number(a <= b);
    case '>':
      return Number(a > b);
    default:
      return Number(a >= b);
  }
}

class Run {
  readonly #names = new Map<string, Value>();
  readonly #arrays = new Map<string, readonly number[]>();

  constructor(private readonly target: FunctionTarget) {}

  call(name: string, args: readonly Value[]): Value {
    const { params, body } = functionProgram(name, this.target);
    params.forEach((param, i) => this.#names.set(param.name, args[i]!));
    return this.#block(body)!;
  }

  /** The value returned, if that was reached. */
  #block(statements: readonly ScalarStatement[]): Value | undefined {
    for (const statement of statements) {
      let result: Value | undefined;
      switch (statement.kind) {
        case 'return':
          return this.#eval(statement.value);
        case 'array':
          this.#arrays.set(statement.name, statement.items);
          break;
        case 'if':
          result = this.#block(
            this.#eval(statement.condition) === 0 ? statement.otherwise : statement.then,
          );
          break;
        case 'while':
          while (result === undefined && this.#eval(statement.condition) !== 0)
            result = this.#block(statement.body);
          break;
        default:
          this.#names.set(statement.name, this.#eval(statement.value));
      }
      if (result !== undefined) return result;
    }
    return undefined;
  }

  #eval(expr: ScalarExpr): Value {
    switch (expr.kind) {
      case 'number':
        return expr.type === 'i64' ? BigInt(expr.text) : round(expr.type, expr.value);
      case 'name':
        return this.#names.get(expr.name)!;
      case 'item':
        return this.#arrays.get(expr.array)![Number(this.#eval(expr.index))]!;
      case 'part': {
        const pair = BigInt(this.#eval(expr.of));
        return Number(BigInt.asUintN(32, expr.part === 'x' ? pair : pair >> 32n));
      }
      case 'unary': {
        const value = this.#eval(expr.arg);
        if (expr.op === '!') return 1 - Number(value);
        return round(expr.type, expr.op === '-' ? -value : ~value);
      }
      case 'binary': {
        const [a, b] = [this.#eval(expr.left), this.#eval(expr.right)];
        const value =
          typeof a === 'bigint'
            ? longArithmetic(expr.op, a, BigInt(b))
            : arithmetic(expr.op, a, Number(b), expr.left.type);
        return round(expr.type, value);
      }
      case 'builtin':
        return this.#builtin(expr);
      case 'convert':
        return convert(this.#eval(expr.arg), expr.type);
      case 'bitcast':
        return bitcast(this.#eval(expr.arg), expr.arg.type, expr.type);
      case 'call': {
        const args = expr.args.map((arg) => this.#eval(arg));
        return new Run(this.target).call(expr.callee, args);
      }
    }
  }

  #builtin(expr: Extract<ScalarExpr, { kind: 'builtin' }>): Value {
    const { name, type } = expr;
    const given = expr.args.map((arg) => this.#eval(arg));
    if (type === 'i64') return round(type, LONG_BUILTINS[name]!(...given.map(BigInt)));
    if (name === 'pair') return BigInt(given[0]!) | (BigInt(given[1]!) << 32n);
    const of: NumberFunction = BUILTINS[name] ?? Math[name as HostFunction];
    return round(type, of(...given.map(Number)));
  }
}

/** The value of a function of the table; bools are 0 and 1, i64 are given and rounded as numbers. @throws kernel-missing when there is no such function */
export function runFunction(name: string, args: readonly number[], target: FunctionTarget): number {
  const { params } = functionProgram(name, target);
  const typed = args.map((arg, i) => (params[i]!.type === 'i64' ? BigInt(arg) : arg));
  return Number(new Run(target).call(name, typed));
}
