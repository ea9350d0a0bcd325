/**
 * @file `Value`: an IR expression's result in vector registers; widening and narrowing of registers.
 */
import { shuffle32 } from '../emit/code.js';
import type { Code } from '../emit/types.js';
import type { ElementKind } from './element-kind.js';
import type { Reg, Regs, VectorBuilder } from './vector-builder.js';

/**
 * Registers of an expression. A *uniform* value has one register with equal lanes; others have
 * `groups · registersPerGroup(kind)` registers, those of one group together.
 */
export interface Value {
  readonly kind: ElementKind;
  readonly regs: Regs;
  readonly uniform: boolean;
}

/** Two 64-bit registers for each register of four 32-bit lanes; a uniform one gives one. */
export function widenRegs(
  vb: VectorBuilder,
  value: Value,
  low: (x: Reg) => Code<'v128'>,
  high: (x: Reg) => Code<'v128'>,
): Regs {
  if (value.uniform) return vb.map([value.regs], (x) => low(x));
  const lows = vb.map([value.regs], (x) => low(x));
  const highs = vb.map([value.regs], (x) => high(x));
  return lows.flatMap((reg, i) => [reg, highs[i]]);
}

/** The even 32-bit lanes of each pair of registers, joined to one; of a uniform one, its even lanes twice. */
export function narrowRegs(vb: VectorBuilder, value: Value): Regs {
  return joinRegs(vb, value, [0, 2, 4, 6]);
}

/** Lanes `pick` of each pair of registers (0–3 of the first, 4–7 of the second), as one register. */
export function joinRegs(
  vb: VectorBuilder,
  value: Value,
  pick: readonly [number, number, number, number],
): Regs {
  const { regs, uniform } = value;
  if (uniform) return vb.map([regs], (x) => shuffle32(pick, x, x));
  const half = (parity: number): Regs => regs.filter((_, i) => i % 2 === parity);
  return vb.map([half(0), half(1)], (x, y) => shuffle32(pick, x, y));
}

/** A bool's mask for 64-bit lanes. */
export function wideMask(vb: VectorBuilder, mask: Value): Regs {
  return widenRegs(
    vb,
    mask,
    (x) => shuffle32([0, 0, 1, 1], x, x),
    (x) => shuffle32([2, 2, 3, 3], x, x),
  );
}

/** Masks of 64-bit lanes that bools were made from: a selection between such lanes takes them as they are. */
const wideMasks = new WeakMap<Regs, Regs>();

/** The mask that fits the lanes of a kind. */
export function maskFor(vb: VectorBuilder, mask: Value, kind: ElementKind): Regs {
  const isWide = kind === 'f64' || kind === 'i64';
  return isWide ? (wideMasks.get(mask.regs) ?? wideMask(vb, mask)) : mask.regs;
}

/** A bool from the result of a comparison of values of a kind. */
export function boolValue(
  vb: VectorBuilder,
  kind: ElementKind,
  uniform: boolean,
  regs: Regs,
): Value {
  if (kind !== 'f64' && kind !== 'i64') return { kind: 'bool', uniform, regs };
  const narrow = narrowRegs(vb, { kind, uniform, regs });
  wideMasks.set(narrow, regs);
  return { kind: 'bool', uniform, regs: narrow };
}
