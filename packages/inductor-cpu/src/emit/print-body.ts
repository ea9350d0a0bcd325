/**
 * @file Text form of functions: folded WebAssembly text that `wat2wasm` accepts.
 *
 * One statement is one line; nesting is indentation. The text is printed from the same trees that are
 * encoded, in creation order, so it is deterministic: golden files hold it.
 */
import { localsByType } from './types.js';
import type { Code, DefinedFunction, Global, ResultType, Statement } from './types.js';

/** A function as `(func $name …)`, exported under its name where asked. */
export function printFunction(fn: DefinedFunction, exported = false): string {
  const lines: string[] = [];
  const params = fn.params.map((param) => ` (param $${param.name} ${param.type})`).join('');
  const result = resultText(fn.result);
  lines.push(`(func $${fn.name}${exported ? ` (export "${fn.name}")` : ''}${params}${result}`);
  for (const [type, locals] of localsByType(fn)) {
    for (let i = 0; i < locals.length; i += 8) {
      lines.push(
        '  ' +
          locals
            .slice(i, i + 8)
            .map((local) => `(local $${local.name} ${type})`)
            .join(' '),
      );
    }
  }
  printStatements(fn.body, '  ', lines);
  lines.push(')');
  return lines.join('\n');
}

/** A module variable as `(global $name …)`. */
export function printGlobal(global: Global): string {
  const type = global.mutable ? `(mut ${global.type})` : global.type;
  return `(global $${global.name} ${type} ${printCode(global.init)})`;
}

/** ` (result t)`, or nothing. */
export function resultText(result: ResultType): string {
  return result === 'void' ? '' : ` (result ${result})`;
}

function printStatements(statements: readonly Statement[], indent: string, lines: string[]): void {
  const inner = `${indent}  `;
  for (const statement of statements) {
    switch (statement.kind) {
      case 'do':
        lines.push(
          indent +
            (statement.code.type === 'void'
              ? printCode(statement.code)
              : `(drop ${printCode(statement.code)})`),
        );
        break;
      case 'set':
        lines.push(`${indent}(local.set $${statement.local.name} ${printCode(statement.code)})`);
        break;
      case 'set-global':
        lines.push(`${indent}(global.set $${statement.global.name} ${printCode(statement.code)})`);
        break;
      case 'block':
      case 'loop':
        lines.push(`${indent}(${statement.kind} $${statement.label.name}`);
        printStatements(statement.body, inner, lines);
        lines.push(`${indent})`);
        break;
      case 'if':
        lines.push(`${indent}(if ${printCode(statement.cond)}`, `${inner}(then`);
        printStatements(statement.then, `${inner}  `, lines);
        lines.push(`${inner})`);
        if (statement.otherwise.length > 0) {
          lines.push(`${inner}(else`);
          printStatements(statement.otherwise, `${inner}  `, lines);
          lines.push(`${inner})`);
        }
        lines.push(`${indent})`);
        break;
      case 'br':
        lines.push(
          `${indent}${statement.cond === undefined ? `(br $${statement.label.name})` : `(br_if $${statement.label.name} ${printCode(statement.cond)})`}`,
        );
        break;
      case 'return':
        lines.push(
          `${indent}(return${statement.code === undefined ? '' : ` ${printCode(statement.code)}`})`,
        );
        break;
      case 'section':
        printStatements(statement.body, indent, lines);
        break;
      case 'comment':
        lines.push(`${indent};; ${statement.text}`);
        break;
    }
  }
}

/** An expression tree on one line. */
export function printCode(code: Code): string {
  const { node } = code;
  const args = 'args' in node ? node.args.map((arg) => ` ${printCode(arg)}`).join('') : '';
  switch (node.kind) {
    case 'op':
      return `(${node.name}${args})`;
    case 'i32':
    case 'i64':
      return `(${node.kind}.const ${node.value})`;
    case 'f32':
    case 'f64':
      return `(${node.kind}.const ${printFloat(node.value)})`;
    case 'v128':
      return `(v128.const ${printVector(node.bytes)})`;
    case 'memory': {
      const offset = node.offset === 0 ? '' : ` offset=${node.offset}`;
      const align = node.name.includes('atomic') ? '' : ' align=1';
      return `(${node.name}${offset}${align}${node.lane === undefined ? '' : ` ${node.lane}`}${args})`;
    }
    case 'lane':
      return `(${node.name} ${node.lane}${args})`;
    case 'shuffle':
      return `(i8x16.shuffle ${node.lanes.join(' ')}${args})`;
    case 'select':
      return `(select${code.type === 'v128' ? ' (result v128)' : ''}${args})`;
    case 'local':
      return `(local.get $${node.local.name})`;
    case 'tee':
      return `(local.tee $${node.local.name}${args})`;
    case 'global':
      return `(global.get $${node.global.name})`;
    case 'call':
      return `(call $${node.callee.name}${args})`;
  }
}

/** v128 constants as four floats where that is exact and plain, else as four i32 in hexadecimal. */
function printVector(bytes: Uint8Array): string {
  const copy = bytes.slice().buffer;
  const floats = new Float32Array(copy);
  const plain = floats.every((x) =>
    x === 0 ? Object.is(x, 0) : Math.abs(x) >= 1e-6 && Math.abs(x) <= 1e9,
  );
  if (plain) return `f32x4 ${[...floats].map(printFloat).join(' ')}`;
  return `i32x4 ${[...new Uint32Array(copy)].map((x) => `0x${x.toString(16)}`).join(' ')}`;
}

function printFloat(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (Object.is(value, -0)) return '-0';
  if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf';
  return String(value);
}
