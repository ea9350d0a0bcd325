/** @file JavaScript's `Math` for f64, imported: engines call their own implementation. */
import { HOST_FUNCTIONS, type HostFunction } from '@tessera/inductor-core';
import type { ImportedFunction } from '../emit/types.js';

type HostImport = ImportedFunction & { readonly result: 'f64' };

const imports = new Map<string, HostImport>();

/** Whether a builtin is one of JavaScript's `Math`, on f64. */
export function isHostFunction(name: string): name is HostFunction {
  const names: readonly string[] = HOST_FUNCTIONS;
  return names.includes(name);
}

/** `Math[name]`, imported under the module name `math`. */
export function hostFunction(name: HostFunction): HostImport {
  let found = imports.get(name);
  if (found === undefined) {
    const params = Array.from({ length: Math[name].length }, () => 'f64' as const);
    found = { kind: 'import', module: 'math', name, params, result: 'f64' };
    imports.set(name, found);
  }
  return found;
}
