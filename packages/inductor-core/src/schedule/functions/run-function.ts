/**
 * @file Runs scalar programs: every operation rounded as its type is, so results are those of a target that
 * neither fuses nor flushes. The reference that emitters are compared with.
 */
import { functionProgram } from './function-table.js';
import type {
  Builtin,
  FunctionTarget,
  ScalarExpr,
  ScalarStatement,
  ScalarType,
} from './program.js';

/** A value; bools are 0 and 1. */
type Value = number | readonly [number, number];

const words = new DataView(new ArrayBuffer(4));

function round(type: ScalarType, value: number): number {
  if (type === 'f32') return Math.fround(value);
  if (type === 'u32') return value >>> 0;
  return type === 'i32' ? value | 0 : Number(value);
}

function bitcast(value: number, from: ScalarType, to: ScalarType): number {
  if (from === 'f32') words.setFloat32(0, value);
  else words.setUint32(0, value >>> 0);
  if (to === 'f32') return words.getFloat32(0);
  return to === 'i32' ? words.getInt32(0) : words.getUint32(0);
}

/** Conversion of a float to an integer saturates; NaN gives 0. */
function convert(value: number, to: ScalarType): number {
  if (to === 'i32') return Math.min(Math.max(Math.trunc(value) || 0, -(2 ** 31)), 2 ** 31 - 1) | 0;
  return round(to, to === 'u32' ? Math.trunc(value) || 0 : value);
}

function roundEven(x: number): number {
  if (Math.abs(x) >= 2 ** 23 || !Number.isFinite(x)) return x;
  const below = Math.floor(x);
  const up = x - below > 0.5 || (x - below === 0.5 && below % 2 !== 0);
  const nearest = up ? below + 1 : below;
  return nearest === 0 && (x < 0 || Object.is(x, -0)) ? -0 : nearest;
}

const BUILTINS: Readonly<Record<Exclude<Builtin, 'pair'>, (...args: number[]) => number>> = {
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
};

function arithmetic(op: string, a: number, b: number, type: ScalarType): number {
  switch (op) {
    case '+':
      return a + b;
    case '-':
      return a - b;
    case '*':
      return type === 'f32' ? a * b : Math.imul(a, b);
    case '/':
      return type === 'f32' ? a / b : Math.trunc(a / b);
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

  #number(expr: ScalarExpr): number {
    return this.#eval(expr) as number;
  }

  #eval(expr: ScalarExpr): Value {
    switch (expr.kind) {
      case 'number':
        return round(expr.type, expr.value);
      case 'name':
        return this.#names.get(expr.name)!;
      case 'item':
        return this.#arrays.get(expr.array)![this.#number(expr.index)]!;
      case 'part':
        return (this.#eval(expr.of) as readonly [number, number])[expr.part === 'x' ? 0 : 1];
      case 'unary': {
        const value = this.#number(expr.arg);
        if (expr.op === '!') return 1 - value;
        return round(expr.type, expr.op === '-' ? -value : ~value);
      }
      case 'binary': {
        const [a, b] = [this.#number(expr.left), this.#number(expr.right)];
        return round(expr.type, arithmetic(expr.op, a, b, expr.left.type));
      }
      case 'builtin': {
        const args = expr.args.map((arg) => this.#number(arg));
        if (expr.name === 'pair') return [args[0]!, args[1]!];
        return round(expr.type, BUILTINS[expr.name](...args));
      }
      case 'convert':
        return convert(this.#number(expr.arg), expr.type);
      case 'bitcast':
        return bitcast(this.#number(expr.arg), expr.arg.type, expr.type);
      case 'call': {
        const args = expr.args.map((arg) => this.#eval(arg));
        return new Run(this.target).call(expr.callee, args);
      }
    }
  }
}

/** The value of a function of the table; bools are 0 and 1. @throws kernel-missing when there is no such function */
export function runFunction(name: string, args: readonly number[], target: FunctionTarget): number {
  return new Run(target).call(name, args) as number;
}
