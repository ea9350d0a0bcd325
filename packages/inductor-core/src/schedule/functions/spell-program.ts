/**
 * @file A scalar program as the text of a language like C.
 *
 * Statements, infix operators and parentheses are alike in all of them and are written here; what differs is a `Dialect`.
 * Programs are as `program.ts` describes them, so a dialect has no choice to make either.
 */
import type { ScalarExpr, ScalarProgram, ScalarStatement, ScalarType } from './program.js';

type Of<K extends ScalarExpr['kind']> = Extract<ScalarExpr, { kind: K }>;

/** How one language differs from the others. Texts of values are given, and returned, such that they bind tightly. */
export interface Dialect {
  /** The line of a function up to its body: `fn exp(x: f32) -> f32`. */
  header(name: string, program: ScalarProgram): string;
  /** What begins the definition of a name: `let x`, `const float x`. */
  define(kind: 'let' | 'var', name: string, type: ScalarType): string;
  /** Defines a list of u32 that is read by index. */
  array(name: string, items: readonly number[]): string;
  number(expr: Of<'number'>): string;
  /** An operation that is written otherwise than in C; null for others. */
  operator?(expr: Of<'unary' | 'binary'>, operands: readonly string[]): string | null;
  builtin(expr: Of<'builtin'>, args: readonly string[]): string;
  convert(expr: Of<'convert'>, arg: string): string;
  bitcast(expr: Of<'bitcast'>, arg: string): string;
  /** The name of another function of the table, which is in use from now on. */
  callee(name: string): string;
}

/** Operators that are written without parentheses inside each other, by how tightly they bind. */
const ARITHMETIC: Readonly<Record<string, number>> = { '+': 1, '-': 1, '*': 2, '/': 2 };

/** A value's text, and how tightly its outermost operator binds. */
type Spelt = readonly [text: string, binding: number];

const TIGHT = 3;

class Speller {
  constructor(private readonly dialect: Dialect) {}

  expr(expr: ScalarExpr): string {
    return this.spelt(expr)[0];
  }

  statement(statement: ScalarStatement, indent: string): string {
    const { dialect } = this;
    switch (statement.kind) {
      case 'let':
      case 'var': {
        const { kind, name, value } = statement;
        return `${indent}${dialect.define(kind, name, value.type)} = ${this.expr(value)};\n`;
      }
      case 'set':
        return `${indent}${statement.name} = ${this.expr(statement.value)};\n`;
      case 'array':
        return `${indent}${dialect.array(statement.name, statement.items)};\n`;
      case 'if': {
        const { then, otherwise } = statement;
        const rest = otherwise.length > 0 ? ` else ${this.block(otherwise, indent)}` : '';
        return `${indent}if (${this.expr(statement.condition)}) ${this.block(then, indent)}${rest}\n`;
      }
      case 'while':
        return `${indent}while (${this.expr(statement.condition)}) ${this.block(statement.body, indent)}\n`;
      case 'return':
        return `${indent}return ${this.expr(statement.value)};\n`;
    }
  }

  block(body: readonly ScalarStatement[], indent: string): string {
    const lines = body.map((inner) => this.statement(inner, `${indent}  `));
    return `{\n${lines.join('')}${indent}}`;
  }

  private list(args: readonly ScalarExpr[]): string[] {
    return args.map((arg) => this.expr(arg));
  }

  private spelt(expr: ScalarExpr): Spelt {
    const { dialect } = this;
    switch (expr.kind) {
      case 'number':
        return [dialect.number(expr), TIGHT];
      case 'name':
        return [expr.name, TIGHT];
      case 'item':
        return [`${expr.array}[${this.expr(expr.index)}]`, TIGHT];
      case 'part':
        return [`${this.operand(expr.of, TIGHT)}.${expr.part}`, TIGHT];
      case 'unary': {
        const text = this.operand(expr.arg, TIGHT);
        // Not `--1`, which is another operator.
        const arg = text.startsWith(expr.op) ? `(${text})` : text;
        return [dialect.operator?.(expr, [arg]) ?? expr.op + arg, TIGHT];
      }
      case 'binary':
        return this.binary(expr);
      case 'builtin':
        return [dialect.builtin(expr, this.list(expr.args)), TIGHT];
      case 'convert':
        return [dialect.convert(expr, this.expr(expr.arg)), TIGHT];
      case 'bitcast':
        return [dialect.bitcast(expr, this.expr(expr.arg)), TIGHT];
      case 'call':
        return [`${dialect.callee(expr.callee)}(${this.list(expr.args).join(', ')})`, TIGHT];
    }
  }

  private binary(expr: Of<'binary'>): Spelt {
    const binding = ARITHMETIC[expr.op] ?? 0;
    const least = binding === 0 ? TIGHT : binding;
    const operands = [this.operand(expr.left, least), this.operand(expr.right, least + 1)];
    const own = this.dialect.operator?.(expr, operands) ?? null;
    return own === null ? [`${operands[0]} ${expr.op} ${operands[1]}`, binding] : [own, TIGHT];
  }

  /** An operand, in parentheses unless it binds at least so tightly. */
  private operand(expr: ScalarExpr, least: number): string {
    const [text, binding] = this.spelt(expr);
    return binding >= Math.min(least, TIGHT) ? text : `(${text})`;
  }
}

/** One value. */
export function spellExpr(expr: ScalarExpr, dialect: Dialect): string {
  return new Speller(dialect).expr(expr);
}

/** A program as a function under a name. */
export function spellProgram(name: string, program: ScalarProgram, dialect: Dialect): string {
  const body = new Speller(dialect).block(program.body, '');
  return `${dialect.header(name, program)} ${body}`;
}
