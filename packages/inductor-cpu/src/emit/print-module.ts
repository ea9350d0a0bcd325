/**
 * @file Modules and functions as WebAssembly text, with everything that they need.
 */
import { atOnce } from '@tessera/shared';
import { link, type ModuleSpec } from './assemble-module.js';
import { printFunction, printGlobal, resultText } from './print-body.js';
import type { DefinedFunction } from './types.js';

/** The module in text form; `wat2wasm` accepts it. */
export function printModule(spec: ModuleSpec): string {
  const { imports, functions, globals } = atOnce(link(spec));
  const { minPages, maxPages, shared } = spec.memory;
  const lines = [
    `(import "env" "memory" (memory ${minPages} ${maxPages}${shared ? ' shared' : ''}))`,
  ];
  for (const { module, name, params, result } of imports) {
    const list = params.length === 0 ? '' : ` (param ${params.join(' ')})`;
    lines.push(`(import "${module}" "${name}" (func $${name}${list}${resultText(result)}))`);
  }
  lines.push(...globals.map(printGlobal));
  for (const global of spec.globals ?? [])
    lines.push(`(export "${global.name}" (global $${global.name}))`);
  lines.push(...functions.map((fn) => printFunction(fn, spec.functions.includes(fn))));
  return `(module\n${lines.join('\n')}\n)`;
}

/** Everything that one function needs, as text: itself first, then its globals and callees. */
export function printFunctionWithDependencies(fn: DefinedFunction): string {
  const { globals, functions } = atOnce(link({ functions: [fn] }));
  return [
    ...globals.map(printGlobal),
    ...functions.map((each) => printFunction(each, each === fn)),
  ].join('\n');
}
