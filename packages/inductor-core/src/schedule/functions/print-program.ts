/**
 * @file `printProgram`: a scalar program as text, in the notation that it is written in.
 */
import type { ScalarExpr, ScalarProgram, ScalarStatement } from './program.js';

function printExpr(expr: ScalarExpr): string {
  const list = (args: readonly ScalarExpr[]): string => args.map(printExpr).join(', ');
  switch (expr.kind) {
    case 'number':
      return expr.text;
    case 'name':
      return expr.name;
    case 'item':
      return `${expr.array}[${printExpr(expr.index)}]`;
    case 'part':
      return `${printExpr(expr.of)}.${expr.part}`;
    case 'unary':
      return `${expr.op}${printExpr(expr.arg)}`;
    case 'binary':
      return `(${printExpr(expr.left)} ${expr.op} ${printExpr(expr.right)})`;
    case 'builtin':
      return `${expr.name}(${list(expr.args)})`;
    case 'convert':
      return `${expr.type}(${printExpr(expr.arg)})`;
    case 'bitcast':
      return `bitcast<${expr.type}>(${printExpr(expr.arg)})`;
    case 'call':
      return `@${expr.callee}(${list(expr.args)})`;
  }
}

function printStatement(statement: ScalarStatement, indent: string): string {
  const block = (body: readonly ScalarStatement[]): string =>
    `{\n${body.map((inner) => printStatement(inner, `${indent}  `)).join('')}${indent}}`;
  switch (statement.kind) {
    case 'let':
    case 'var':
      return `${indent}${statement.kind} ${statement.name} = ${printExpr(statement.value)};\n`;
    case 'set':
      return `${indent}${statement.name} = ${printExpr(statement.value)};\n`;
    case 'array': {
      const items = statement.items.map((item) => `${item}u`).join(', ');
      return `${indent}array ${statement.name} = [${items}];\n`;
    }
    case 'if': {
      const otherwise = statement.otherwise.length > 0 ? ` else ${block(statement.otherwise)}` : '';
      const condition = printExpr(statement.condition);
      return `${indent}if (${condition}) ${block(statement.then)}${otherwise}\n`;
    }
    case 'while':
      return `${indent}while (${printExpr(statement.condition)}) ${block(statement.body)}\n`;
    case 'return':
      return `${indent}return ${printExpr(statement.value)};\n`;
  }
}

/** The program as text; parsing it gives the program again. */
export function printProgram({ name, params, result, body }: ScalarProgram): string {
  const declared = params.map((param) => `${param.name}: ${param.type}`).join(', ');
  const statements = body.map((statement) => printStatement(statement, '  ')).join('');
  return `fn ${name}(${declared}) -> ${result} {\n${statements}}`;
}
