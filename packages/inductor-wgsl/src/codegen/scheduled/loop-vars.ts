/**
 * @file Loop variables in WGSL: the values that a flat position stands for.
 */
import { moves, type SizedLoop } from '@tessera/inductor-core';
import { type Size, sizeFloorDiv, sizeMul } from '@tessera/shared';
import type { CodeBlock } from '../code-block.js';
import type { SymbolText } from '../values/index-emitter.js';
import type { NameScope } from '../names.js';

/** What texts of sizes and names are taken from; a `ProgramBuilder`. */
export interface ProgramNames {
  readonly names: NameScope;
  size(size: Size): string;
}

/**
 * Declares the variables that position `flat` (text of a u32, or vec4u of width 4) stands for; the last
 * variable is fastest. With `lane`, positions count groups of four values of that variable. A variable
 * that is the position itself goes by the position's name.
 */
export function decompose(
  block: CodeBlock,
  program: ProgramNames,
  vars: readonly SizedLoop[],
  flat: string,
  options: { readonly lane?: string; readonly width?: 1 | 4 } = {},
): Map<string, SymbolText> {
  const width = options.width ?? 1;
  const symbols = new Map<string, SymbolText>();
  const moving = vars.filter(moves);
  for (const v of vars) if (!moves(v)) symbols.set(v.name, { text: '0u', width: 1 });
  let divisor: Size = 1;
  for (let i = moving.length - 1; i >= 0; i--) {
    const v = moving[i];
    const isLane = v.name === options.lane;
    const count = isLane ? sizeFloorDiv(v.size, 4) : v.size;
    let text = divisor === 1 ? flat : `${flat} / ${program.size(divisor)}`;
    if (i > 0) {
      const modulus = program.size(count);
      text = divisor === 1 ? `${text} % ${modulus}` : `(${text}) % ${modulus}`;
    }
    if (isLane) text = i > 0 ? `(${text}) * 4u` : `${text} * 4u`;
    if (i > 0) divisor = sizeMul(divisor, count);
    if (text === flat && /^\w+$/.test(flat)) {
      symbols.set(v.name, { text: flat, width });
      continue;
    }
    const name = program.names.claim(v.name);
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
