/**
 * @file The notation of scalar programs: text → `ScalarProgram`, with types.
 *
 * It is the common part of C and WGSL: `let`, `var`, assignments, `if`, `while`, `return`; `@name(…)` calls another
 * function of the table, `f32(x)` converts, `bitcast<u32>(x)` keeps bits, and `poly(x, c0, c1, …)` stands for
 * c0 + x·(c1 + x·…). A number with a dot or an exponent is f32, one with `u` u32, another i32; beside a 64-bit operand
 * it is f64 or i64.
 */
import type {
  BinaryOperator,
  Builtin,
  ScalarExpr,
  ScalarProgram,
  ScalarStatement,
  ScalarType,
} from './program.js';
import { TokenReader } from './tokens.js';

const PRECEDENCE: Readonly<Record<string, number>> = {
  '||': 1,
  '&&': 2,
  '|': 3,
  '^': 4,
  '&': 5,
  '==': 6,
  '!=': 6,
  '<': 7,
  '<=': 7,
  '>': 7,
  '>=': 7,
  '<<': 8,
  '>>': 8,
  '+': 9,
  '-': 9,
  '*': 10,
  '/': 10,
  '%': 10,
};
const COMPARISONS = new Set(['==', '!=', '<', '<=', '>', '>=']);
const SHIFTS = new Set(['<<', '>>']);
const TYPES: ReadonlySet<string> = new Set(['bool', 'i32', 'u32', 'i64', 'f32', 'f64']);

/** Result types of the functions that a program calls, by name. */
export type ResultTypes = (name: string) => ScalarType;

class Parser {
  readonly #names = new Map<string, ScalarType>();
  #uniform = true;

  constructor(
    private readonly reader: TokenReader,
    private readonly resultOf: ResultTypes,
  ) {}

  program(): ScalarProgram {
    const { reader } = this;
    reader.expect('fn');
    const name = reader.take();
    reader.expect('(');
    const params: { name: string; type: ScalarType }[] = [];
    while (!reader.accept(')')) {
      const param = reader.take();
      reader.expect(':');
      const type = this.#type();
      params.push({ name: param, type });
      this.#names.set(param, type);
      reader.accept(',');
    }
    reader.expect('->');
    const result = this.#type();
    const body = this.#block();
    const uniform = this.#uniform && result !== 'pair';
    return { name, params, result, uniform, called: false, body };
  }

  /** Types are ours: what is none is found by the first test that runs the function. */
  #type(): ScalarType {
    return this.reader.take() as ScalarType;
  }

  #block(): ScalarStatement[] {
    const statements: ScalarStatement[] = [];
    this.reader.expect('{');
    while (!this.reader.accept('}')) statements.push(this.#statement());
    return statements;
  }

  #otherwise(): ScalarStatement[] {
    return this.reader.next === 'if' ? [this.#statement()] : this.#block();
  }

  #statement(): ScalarStatement {
    const { reader } = this;
    const word = reader.take();
    if (word === 'if' || word === 'while') {
      const condition = this.#expr();
      if (condition.kind !== 'builtin' || condition.name !== 'any') this.#uniform = false;
      const body = this.#block();
      if (word === 'while') return { kind: 'while', condition, body };
      return {
        kind: 'if',
        condition,
        then: body,
        otherwise: reader.accept('else') ? this.#otherwise() : [],
      };
    }
    if (word === 'return') return this.#ended({ kind: 'return', value: this.#expr() });
    if (word === 'array') {
      const name = reader.take();
      reader.expect('=');
      reader.expect('[');
      const items: number[] = [];
      while (!reader.accept(']')) {
        items.push(Number(reader.take().replace(/u$/, '')));
        reader.accept(',');
      }
      return this.#ended({ kind: 'array', name, items });
    }
    if (word === 'let' || word === 'var') {
      const name = reader.take();
      reader.expect('=');
      const value = this.#expr();
      this.#names.set(name, value.type);
      return this.#ended({ kind: word, name, value });
    }
    const operator = reader.take();
    const right = this.#expr();
    const old: ScalarExpr = { kind: 'name', type: this.#names.get(word)!, name: word };
    const value = operator === '=' ? beside(old, right) : binary(operator.slice(0, -1), old, right);
    return this.#ended({ kind: 'set', name: word, value });
  }

  #ended<T>(statement: T): T {
    this.reader.expect(';');
    return statement;
  }

  #expr(least = 1): ScalarExpr {
    let left = this.#unary();
    for (;;) {
      const precedence = PRECEDENCE[this.reader.next] ?? 0;
      if (precedence < least) return left;
      const op = this.reader.take();
      left = binary(op, left, this.#expr(precedence + 1));
    }
  }

  #unary(): ScalarExpr {
    const { reader } = this;
    for (const op of ['-', '!', '~'] as const) {
      if (!reader.accept(op)) continue;
      const arg = this.#unary();
      return arg.kind === 'number' && op === '-'
        ? { ...arg, value: -arg.value, text: `-${arg.text}` }
        : { kind: 'unary', type: arg.type, op, arg };
    }
    const value = this.#primary();
    if (!reader.accept('.')) return value;
    this.#uniform = false;
    return { kind: 'part', type: 'u32', of: value, part: reader.take() as 'x' | 'y' };
  }

  #primary(): ScalarExpr {
    const { reader } = this;
    if (reader.accept('(')) {
      const inner = this.#expr();
      reader.expect(')');
      return inner;
    }
    const word = reader.take();
    if (/^\d/.test(word)) return number(word);
    if (word === 'bitcast') {
      reader.expect('<');
      const type = this.#type();
      reader.expect('>');
      return { kind: 'bitcast', type, arg: this.#args()[0]! };
    }
    if (reader.accept('[')) {
      const index = this.#expr();
      reader.expect(']');
      return { kind: 'item', type: 'u32', array: word, index };
    }
    if (reader.next !== '(') return { kind: 'name', type: this.#names.get(word)!, name: word };
    const args = this.#args();
    if (word.startsWith('@')) {
      const callee = word.slice(1);
      return { kind: 'call', type: this.resultOf(callee), callee, args };
    }
    if (TYPES.has(word)) return conversion(word as ScalarType, args[0]!);
    if (word === 'poly') return poly(args);
    return builtin(word as Builtin, args);
  }

  #args(): ScalarExpr[] {
    const args: ScalarExpr[] = [];
    this.reader.expect('(');
    while (!this.reader.accept(')')) {
      args.push(this.#expr());
      this.reader.accept(',');
    }
    return args;
  }
}

function number(word: string): ScalarExpr {
  const isHex = word.startsWith('0x');
  const type = word.endsWith('u') ? 'u32' : !isHex && /[.e]/.test(word) ? 'f32' : 'i32';
  return { kind: 'number', type, value: Number(word.replace(/u$/, '')), text: word };
}

/** A number as the operand that stands with it is: in 64 bits if that is. */
function beside(other: ScalarExpr, expr: ScalarExpr): ScalarExpr {
  if (expr.kind !== 'number') return expr;
  if (other.type === 'f64' && expr.type === 'f32') return { ...expr, type: 'f64' };
  return other.type === 'i64' && expr.type === 'i32' ? { ...expr, type: 'i64' } : expr;
}

function binary(word: string, a: ScalarExpr, b: ScalarExpr): ScalarExpr {
  const op = (word === '&&' ? '&' : word === '||' ? '|' : word) as BinaryOperator;
  const [left, right] = SHIFTS.has(op) ? [a, b] : [beside(b, a), beside(a, b)];
  return { kind: 'binary', type: COMPARISONS.has(op) ? 'bool' : left.type, op, left, right };
}

function conversion(type: ScalarType, arg: ScalarExpr): ScalarExpr {
  const folds =
    arg.kind === 'number' && (type === arg.type || beside({ ...arg, type }, arg).type === type);
  return folds ? { ...arg, type } : { kind: 'convert', type, arg };
}

function builtin(name: Builtin, given: readonly ScalarExpr[]): ScalarExpr {
  const long = given.find(({ type }) => type === 'f64' || type === 'i64');
  const args = long === undefined ? given : given.map((arg) => beside(long, arg));
  const type = name === 'pair' ? 'pair' : name === 'any' ? 'bool' : args[0]!.type;
  return { kind: 'builtin', type, name, args };
}

/** Horner's scheme: fewest operations. */
function poly([x, ...coefficients]: readonly ScalarExpr[]): ScalarExpr {
  return coefficients.reduceRight((sum, c) => binary('+', binary('*', sum, x!), c));
}

/** Reads a program. @throws plan-invalid when the text is not one */
export function parseProgram(text: string, resultOf: ResultTypes): ScalarProgram {
  return new Parser(new TokenReader(text), resultOf).program();
}
