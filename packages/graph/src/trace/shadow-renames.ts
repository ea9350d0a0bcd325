/**
 * @file Undoing a transpiler's renames of parameters.
 *
 * esbuild, through which Vitest and tsx run TypeScript, numbers a parameter that shadows an outer name:
 * where `x` exists outside, `(x) => …` becomes `(x2) => …`. Guards and graph inputs are to show the name
 * in the source. A name is taken for such a one only in a process that runs through esbuild, if no other
 * parameter has that stem, and if the function does not use the stem itself: it could not, had it been
 * shadowed.
 */

import { environmentVariable } from '@tessera/shared';

const NUMBERED = /^([A-Za-z_$][\w$]*?)(?<!\d)([2-9]|[1-9]\d+)$/;

/** Whether functions of this process are what esbuild made of them. */
function isTranspiled(): boolean {
  const execArgv = globalThis.process?.execArgv ?? [];
  return environmentVariable('VITEST') !== undefined || execArgv.some((arg) => arg.includes('tsx'));
}

/** The names as in the source; `text` is the function's. */
export function undoShadowRenames(
  names: readonly (string | null)[],
  text: string,
): (string | null)[] {
  if (!names.some((name) => name !== null && NUMBERED.test(bare(name))) || !isTranspiled())
    return [...names];
  const unnumbered = names.map((name) => (name === null ? null : bare(name).replace(/\d+$/, '')));
  return names.map((name) => {
    const stem = name === null ? null : (NUMBERED.exec(bare(name))?.[1] ?? null);
    if (name === null || stem === null) return name;
    if (unnumbered.filter((other) => other === stem).length > 1 || uses(text, stem)) return name;
    return (name.startsWith('...') ? '...' : '') + stem;
  });
}

/** Without the dots of a rest parameter. */
function bare(name: string): string {
  return name.startsWith('...') ? name.slice(3) : name;
}

/** Whether a function mentions a variable: not as a property, a key or inside a string. */
function uses(text: string, name: string): boolean {
  const code = text.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, '""');
  const escaped = name.replaceAll('$', String.raw`\$`);
  return new RegExp(String.raw`(?<![\w$.])${escaped}(?![\w$]|\s*:)`).test(code);
}
