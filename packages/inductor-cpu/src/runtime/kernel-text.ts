/**
 * @file Where the printer of WebAssembly text is, if the program asked for it (`useWebAssemblyText`).
 */
import type { DefinedFunction } from '../emit/types.js';

const known: { print: ((fn: DefinedFunction) => string) | null } = { print: null };

export function registerPrinter(print: (fn: DefinedFunction) => string): void {
  known.print = print;
}

/** A kernel as text; where the program has no printer, what brings one. */
export function kernelText(fn: DefinedFunction): string {
  return (
    known.print?.(fn) ?? `;; $${fn.name}: import '@tessera/compile/exploration' to read its code`
  );
}
