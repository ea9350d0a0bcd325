/**
 * @file Scalar programs in WGSL, for one value or for four.
 */
import type { Dialect, ScalarExpr, ScalarProgram } from '@tessera/inductor-core';
import { typeName, type ScalarType, type Width } from '../values/wgsl-types.js';

/** WGSL name of a type; the functions that it takes have none of 64 bits. */
function spellType(type: ScalarExpr['type'], width: Width): string {
  return type === 'pair' ? 'vec2u' : typeName(type as ScalarType, width);
}

function header(name: string, { params, result }: ScalarProgram, width: Width): string {
  const declared = params.map((param) => `${param.name}: ${spellType(param.type, width)}`);
  return `fn ${name}(${declared.join(', ')}) -> ${spellType(result, width)}`;
}

/** See the file header; `callee` gives the name of another function in this width, and includes it. */
export function wgslDialect(width: Width, callee: (name: string) => string): Dialect {
  return {
    header: (name, program) => header(name, program, width),
    define: (kind, name) => `${kind} ${name}`,
    // A variable: not every compiler indexes constants by values.
    array: (name, items) => {
      const words = items.map((item) => `0x${item.toString(16)}u`).join(', ');
      return `var ${name} = array<u32, ${items.length}>(${words})`;
    },
    number: ({ type, text }) => (width === 1 ? text : `${spellType(type, width)}(${text})`),
    builtin: ({ name }, args) => `${name === 'pair' ? 'vec2u' : name}(${args.join(', ')})`,
    convert: ({ type }, arg) => `${spellType(type, width)}(${arg})`,
    bitcast: ({ type }, arg) => `bitcast<${spellType(type, width)}>(${arg})`,
    callee,
  };
}

/**
 * The function for four values of a program that branches by value: `scalar` is called for each. Drivers write callees
 * in place: of one that is hardly ever needed there is one copy, in a loop.
 */
export function spellLanes(name: string, program: ScalarProgram, scalar: string): string {
  const result = spellType(program.result, 4);
  const call = (lane: number | string): string =>
    `${scalar}(${program.params.map((param) => `${param.name}[${lane}]`).join(', ')})`;
  const body = program.called
    ? `var all: ${result};\n  for (var i = 0; i < 4; i++) { all[i] = ${call('i')}; }\n  return all`
    : `return ${result}(${[0, 1, 2, 3].map(call).join(', ')})`;
  return `${header(name, program, 4)} {\n  ${body};\n}`;
}
