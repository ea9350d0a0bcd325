/**
 * @file The table of scalar functions in JavaScript: programs of primitive operations become functions.
 *
 * Every operation rounds as its type does: f32 by `Math.fround`, integers by wrapping; i64 are bigints.
 */
import * as core from '@tessera/inductor-core';

type ScalarExpr = core.ScalarExpr;
type Typed<K extends ScalarExpr['kind']> = Extract<ScalarExpr, { kind: K }>;

/** JavaScript has doubles and, in bigints, 64-bit integers. */
const TARGET: core.FunctionTarget = {
  ieee: true,
  functions: { ...core.SCALAR_FUNCTIONS, ...core.SCALAR_FUNCTIONS_64 },
};

/** The view of eight bytes that holds a type's bits. */
const VIEWS: Readonly<Record<string, string>> = {
  f32: 'F32',
  u32: 'U32',
  i32: 'I32',
  f64: 'F64',
  i64: 'I64',
};

const words = new ArrayBuffer(8);

/** What generated code calls besides `Math`. */
export const LIBRARY: Readonly<Record<string, unknown>> = {
  F32: new Float32Array(words),
  U32: new Uint32Array(words),
  I32: new Int32Array(words),
  F64: new Float64Array(words),
  I64: new BigInt64Array(words),
  /** Rounds half to even. */
  roundEven(x: number): number {
    const nearest = Math.round(x);
    const tie = Math.abs(x - Math.trunc(x)) === 0.5;
    return tie && nearest % 2 !== 0 ? nearest - 1 : x < 0 && nearest === 0 ? -0 : nearest;
  },
  /** Truncates, as far as an i32 goes. */
  toInt: (x: number): number => Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, Math.trunc(x))) | 0,
  /** Truncates to a bigint of 64 bits; where there is none, the least. */
  toLong: (x: number): bigint =>
    Number.isFinite(x) ? BigInt.asIntN(64, BigInt(Math.trunc(x))) : -(2n ** 63n),
  /** Ends a kernel because a value is not as it must be. */
  fail(check: Parameters<typeof core.valueError>[0], subject: number): never {
    throw core.valueError(check, subject);
  },
};

/** The text of a number brought into a type. */
export function rounded(type: string, text: string): string {
  if (type === 'f32') return `Math.fround(${text})`;
  if (type === 'i32') return `(${text} | 0)`;
  if (type === 'u32') return `(${text} >>> 0)`;
  return type === 'i64' ? `BigInt.asIntN(64, ${text})` : `(${text})`;
}

/** Collects the functions that a kernel calls, with what they call. */
export class Functions {
  private readonly texts = new Map<string, string>();

  /** JavaScript's name of a function of the table. @throws kernel-missing when there is no such function */
  use(name: string): string {
    if (!this.texts.has(name)) {
      this.texts.set(name, '');
      const { params, body } = core.functionProgram(name, TARGET);
      const declared = params.map((param) => param.name).join(', ');
      this.texts.set(name, `function f_${name}(${declared}) ${this.block(body)}`);
    }
    return `f_${name}`;
  }

  toString(): string {
    return [...this.texts.values()].map((text) => `${text}\n`).join('');
  }

  private block(body: readonly core.ScalarStatement[]): string {
    return `{ ${body.map((statement) => this.statement(statement)).join(' ')} }`;
  }

  private statement(statement: core.ScalarStatement): string {
    switch (statement.kind) {
      case 'let':
        return `const ${statement.name} = ${this.value(statement.value)};`;
      case 'var':
        return `let ${statement.name} = ${this.value(statement.value)};`;
      case 'set':
        return `${statement.name} = ${this.value(statement.value)};`;
      case 'array':
        return `const ${statement.name} = [${statement.items.join(', ')}];`;
      case 'if':
        return `if (${this.value(statement.condition)}) ${this.block(statement.then)} else ${this.block(statement.otherwise)}`;
      case 'while':
        return `while (${this.value(statement.condition)}) ${this.block(statement.body)}`;
      case 'return':
        return `return ${this.value(statement.value)};`;
    }
  }

  private value(expr: ScalarExpr): string {
    switch (expr.kind) {
      case 'number':
        return expr.type === 'i64' ? `${BigInt(expr.text)}n` : rounded(expr.type, `${expr.value}`);
      case 'name':
        return expr.name;
      case 'item':
        return `${expr.array}[${this.value(expr.index)}]`;
      case 'part':
        return `${this.value(expr.of)}[${expr.part === 'x' ? 0 : 1}]`;
      case 'unary':
        return expr.op === '!'
          ? `!${this.value(expr.arg)}`
          : rounded(expr.type, `${expr.op}${this.value(expr.arg)}`);
      case 'binary':
        return this.binary(expr);
      case 'builtin':
        return this.builtin(expr);
      case 'convert':
        return conversion(expr.arg.type, expr.type, this.value(expr.arg));
      case 'bitcast':
        return `(${VIEWS[expr.arg.type]}[0] = ${this.value(expr.arg)}, ${VIEWS[expr.type]}[0])`;
      case 'call':
        return `${this.use(expr.callee)}(${expr.args.map((arg) => this.value(arg)).join(', ')})`;
    }
  }

  private binary({ op, type, left, right }: Typed<'binary'>): string {
    const [a, b] = [this.value(left), this.value(right)];
    if (left.type === 'bool' && (op === '&' || op === '|')) return `(${a} ${op}${op} ${b})`;
    if (op === '==' || op === '!=') return `(${a} ${op}= ${b})`;
    if (type === 'bool') return `(${a} ${op} ${b})`;
    if (op === '*' && type !== 'f32' && type !== 'f64' && type !== 'i64')
      return rounded(type, `Math.imul(${a}, ${b})`);
    const count = (op === '<<' || op === '>>') && type === 'i64' ? `BigInt(${b})` : b;
    return rounded(type, `${a} ${op === '>>' && type === 'u32' ? '>>>' : op} ${count}`);
  }

  private builtin({ name, type, args }: Typed<'builtin'>): string {
    const [a, b, c] = args.map((arg) => this.value(arg));
    switch (name) {
      case 'any':
        return a!;
      case 'select':
        return `(${c} ? ${b} : ${a})`;
      case 'pair':
        return `[${a}, ${b}]`;
      case 'clamp':
        return `Math.min(Math.max(${a}, ${b}), ${c})`;
      case 'countLeadingZeros':
        return `Math.clz32(${a})`;
      case 'round':
        return `roundEven(${a})`;
      default:
        if (type !== 'i64')
          return rounded(type, `Math.${name}(${args.map((x) => this.value(x)).join(', ')})`);
        if (name === 'abs') return `(${a} < 0n ? -${a} : ${a})`;
        return `(${a} ${name === 'min' ? '<' : '>'} ${b} ? ${a} : ${b})`;
    }
  }
}

function conversion(from: string, to: string, text: string): string {
  if (to === 'f32' || to === 'f64') return rounded(to, `Number(${text})`);
  if (to === 'i64') return `BigInt(${text})`;
  if (from === 'i64') return rounded(to, `Number(BigInt.asIntN(32, ${text}))`);
  return to === 'i32' && from === 'f32' ? `toInt(${text})` : rounded(to, text);
}
