/**
 * @file Minimum and maximum of symbolic sizes.
 */
import { compareSizes } from './order.js';
import { addScaledSize } from './polynomial.js';
import type { Size } from './size.js';
import type { SymIntOwner } from './sym-int.js';

/** Beyond this many operands, pairs are no longer compared: that is quadratic. */
const MAX_COMPARED = 8;

/** Smallest or largest of the sizes; operands that can never win are dropped. */
export function extremumOf(env: SymIntOwner, kind: 'min' | 'max', sizes: readonly Size[]): Size {
  const operands = new Set<Size>();
  let constant: number | undefined;
  for (const size of sizes) {
    const parts = typeof size !== 'number' && size.kind === kind ? size.args : [size];
    for (const part of parts) {
      if (typeof part !== 'number') operands.add(part);
      else constant = constant === undefined ? part : Math[kind](constant, part);
    }
  }
  if (constant !== undefined) operands.add(constant);
  let list = [...operands];
  if (list.length <= MAX_COMPARED) list = withoutLosers(env, kind, list);
  if (list.length === 1) return list[0];
  return env.intern(kind, list.sort(compareSizes));
}

function withoutLosers(env: SymIntOwner, kind: 'min' | 'max', operands: readonly Size[]): Size[] {
  const kept: Size[] = [];
  for (const candidate of operands) {
    // `kept` operands come first, so of two that are always equal exactly one stays.
    if (kept.some((other) => neverBeats(env, kind, candidate, other))) continue;
    const stronger = kept.filter((other) => !neverBeats(env, kind, other, candidate));
    kept.splice(0, kept.length, ...stronger, candidate);
  }
  return kept;
}

function neverBeats(env: SymIntOwner, kind: 'min' | 'max', candidate: Size, other: Size): boolean {
  const difference = env.rangeOf(addScaledSize(env, candidate, other, -1));
  return kind === 'max' ? difference.hi <= 0 : difference.lo >= 0;
}
