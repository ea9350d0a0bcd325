/**
 * @file Loop variables in WGSL: the values that a flat position stands for.
 */
import type { LoopVar } from '@tessera/inductor-core';
import type { CodeBlock } from './code-block.js';
import type { SymbolText } from './index-emitter.js';
import type { NameScope } from './names.js';

/** Product of the trip counts. */
export function extent(vars: readonly LoopVar[]): number {
  return vars.reduce((product, v) => product * v.size, 1);
}

/** The fastest variable that moves at all, or null. */
export function fastest(vars: readonly LoopVar[]): LoopVar | null {
  for (let i = vars.length - 1; i >= 0; i--) if (vars[i].size > 1) return vars[i];
  return null;
}

/**
 * Declares the variables that position `flat` (text of a u32, or vec4u of width 4) stands for; the last
 * variable is fastest. With `lane`, positions count groups of four values of that variable. A variable
 * that is the position itself goes by the position's name.
 */
export function decompose(
  block: CodeBlock,
  names: NameScope,
  vars: readonly LoopVar[],
  flat: string,
  options: { readonly lane?: string; readonly width?: 1 | 4 } = {},
): Map<string, SymbolText> {
  const width = options.width ?? 1;
  const symbols = new Map<string, SymbolText>();
  const moving = vars.filter((v) => v.size > 1);
  for (const v of vars) if (v.size <= 1) symbols.set(v.name, { text: '0u', width: 1 });
  let divisor = 1;
  for (let i = moving.length - 1; i >= 0; i--) {
    const v = moving[i];
    const isLane = v.name === options.lane;
    const count = isLane ? v.size / 4 : v.size;
    let text = divisor === 1 ? flat : `${flat} / ${divisor}u`;
    if (i > 0) text = divisor === 1 ? `${text} % ${count}u` : `(${text}) % ${count}u`;
    if (isLane) text = i > 0 ? `(${text}) * 4u` : `${text} * 4u`;
    divisor *= count;
    if (text === flat && /^\w+$/.test(flat)) {
      symbols.set(v.name, { text: flat, width });
      continue;
    }
    const name = names.claim(v.name);
    block.line(`let ${name} = ${text};`);
    symbols.set(
      v.name,
      isLane
        ? { text: name, width: 1, lanes: `(${name} + vec4u(0u, 1u, 2u, 3u))` }
        : { text: name, width },
    );
  }
  return symbols;
}
