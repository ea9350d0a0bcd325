/**
 * @file How one thread walks its share of the inner loops: loops, and what their variables are in the text.
 */
import type { SizedLoop } from '@tessera/inductor-core';
import { sizeCeilDiv } from '@tessera/shared';
import type { SymbolText } from './index-emitter.js';
import type { Loop } from './loop-blocks.js';
import { fastest, type ProgramNames } from './loop-vars.js';

/** See the file header. */
export interface InnerLoops {
  readonly loops: readonly Loop[];
  readonly symbols: ReadonlyMap<string, SymbolText>;
  /** Text of the position, in units of lanes. */
  readonly position: string;
}

/** One `for` per variable: no division when a thread walks the whole loop itself. `lane` lies along the lanes. */
export function nestedLoops(
  inner: readonly SizedLoop[],
  lane: string | undefined,
  program: ProgramNames,
): InnerLoops {
  const symbols = new Map<string, SymbolText>();
  const loops: Loop[] = [];
  let position = '';
  for (const v of inner) {
    const name = program.names.claim(v.name);
    const isLane = v.name === lane;
    const step = isLane ? 4 : 1;
    const trips = sizeCeilDiv(v.size, step);
    loops.push({ name, begin: '0u', limit: program.size(v.size), step, trips });
    symbols.set(v.name, {
      text: name,
      width: 1,
      ...(isLane && { lanes: `(${name} + vec4u(0u, 1u, 2u, 3u))` }),
    });
    const own = isLane ? `${name} / 4u` : name;
    position = position === '' ? own : `(${position}) * ${program.size(trips)} + ${own}`;
  }
  return { symbols, loops, position };
}

/** The variables where the four lanes are `step` elements of the fastest one apart, from `at` on. */
export function stridedSymbols(
  inner: readonly SizedLoop[],
  step: number,
  at: string,
): { readonly all: ReadonlyMap<string, SymbolText>; readonly lanes: string } {
  const lanes = `(${at} + vec4u(0u, ${step}u, ${2 * step}u, ${3 * step}u))`;
  const lane = fastest(inner)!;
  const all = new Map<string, SymbolText>();
  for (const v of inner)
    all.set(v.name, v === lane ? { text: at, width: 1, lanes } : { text: '0u', width: 1 });
  return { all, lanes };
}
