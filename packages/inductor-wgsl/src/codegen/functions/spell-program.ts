/**
 * @file A scalar program as a WGSL function, for one value or for four.
 */
import type { ScalarExpr, ScalarProgram, ScalarStatement } from '@tessera/inductor-core';
import { typeName, type ScalarType, type Width } from '../wgsl-types.js';

/** How a program's text is written. */
export interface Spelling {
  readonly width: Width;
  /** Name of another function in this width; includes it. */
  callee(name: string): string;
}

const ARITHMETIC: Readonly<Record<string, number>> = { '+': 1, '-': 1, '*': 2, '/': 2 };

/** WGSL name of a type; the functions that it takes have none of 64 bits. */
export function spellType(type: ScalarExpr['type'], width: Width): string {
  return type === 'pair' ? 'vec2u' : typeName(type as ScalarType, width);
}

/** An operand of `parent`, in parentheses unless both are arithmetic that binds as written. */
function spellOperand(expr: ScalarExpr, parent: string, isRight: boolean, how: Spelling): string {
  const text = spellExpr(expr, how);
  if (expr.kind !== 'binary') return text;
  const [outer, inner] = [ARITHMETIC[parent] ?? 9, ARITHMETIC[expr.op] ?? 0];
  return inner > outer || (inner === outer && !isRight) ? text : `(${text})`;
}

function spellExpr(expr: ScalarExpr, how: Spelling): string {
  const { width } = how;
  const list = (args: readonly ScalarExpr[]): string =>
    args.map((arg) => spellExpr(arg, how)).join(', ');
  switch (expr.kind) {
    case 'number':
      return width === 1 ? expr.text : `${spellType(expr.type, width)}(${expr.text})`;
    case 'name':
      return expr.name;
    case 'item':
      return `${expr.array}[${spellExpr(expr.index, how)}]`;
    case 'part':
      return `${spellExpr(expr.of, how)}.${expr.part}`;
    case 'unary': {
      const text = spellExpr(expr.arg, how);
      return expr.op + (expr.arg.kind === 'binary' ? `(${text})` : text);
    }
    case 'binary': {
      const left = spellOperand(expr.left, expr.op, false, how);
      return `${left} ${expr.op} ${spellOperand(expr.right, expr.op, true, how)}`;
    }
    case 'builtin':
      return `${expr.name === 'pair' ? 'vec2u' : expr.name}(${list(expr.args)})`;
    case 'convert':
      return `${spellType(expr.type, width)}(${spellExpr(expr.arg, how)})`;
    case 'bitcast':
      return `bitcast<${spellType(expr.type, width)}>(${spellExpr(expr.arg, how)})`;
    case 'call':
      return `${how.callee(expr.callee)}(${list(expr.args)})`;
  }
}

function spellStatement(statement: ScalarStatement, indent: string, how: Spelling): string {
  const block = (body: readonly ScalarStatement[]): string =>
    `{\n${body.map((inner) => spellStatement(inner, `${indent}  `, how)).join('')}${indent}}`;
  switch (statement.kind) {
    case 'let':
    case 'var':
      return `${indent}${statement.kind} ${statement.name} = ${spellExpr(statement.value, how)};\n`;
    case 'set':
      return `${indent}${statement.name} = ${spellExpr(statement.value, how)};\n`;
    case 'array': {
      // A variable: not every compiler indexes constants by values.
      const items = statement.items.map((item) => `0x${item.toString(16)}u`);
      return `${indent}var ${statement.name} = array<u32, ${items.length}>(${items.join(', ')});\n`;
    }
    case 'if': {
      const otherwise = statement.otherwise.length > 0 ? ` else ${block(statement.otherwise)}` : '';
      const condition = spellExpr(statement.condition, how);
      return `${indent}if (${condition}) ${block(statement.then)}${otherwise}\n`;
    }
    case 'while':
      return `${indent}while (${spellExpr(statement.condition, how)}) ${block(statement.body)}\n`;
    case 'return':
      return `${indent}return ${spellExpr(statement.value, how)};\n`;
  }
}

function header(name: string, { params, result }: ScalarProgram, width: Width): string {
  const declared = params.map((param) => `${param.name}: ${spellType(param.type, width)}`);
  return `fn ${name}(${declared.join(', ')}) -> ${spellType(result, width)}`;
}

/** The function under a name, in the width of `how`. */
export function spellProgram(name: string, program: ScalarProgram, how: Spelling): string {
  const body = program.body.map((statement) => spellStatement(statement, '  ', how)).join('');
  return `${header(name, program, how.width)} {\n${body}}`;
}

/** The function for four values of a program that branches by value: `scalar` is called for each. */
export function spellLanes(name: string, program: ScalarProgram, scalar: string): string {
  const calls = ['x', 'y', 'z', 'w'].map(
    (lane) => `${scalar}(${program.params.map((param) => `${param.name}.${lane}`).join(', ')})`,
  );
  const result = spellType(program.result, 4);
  return `${header(name, program, 4)} {\n  return ${result}(${calls.join(', ')});\n}`;
}
