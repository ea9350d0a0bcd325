/**
 * @file Lanes as parts of one result: which of them hold values, and how they are brought together.
 */
import { op, lane, shuffle32 } from '../emit/code.js';
import { registersPerGroup, type ElementKind } from '../body/element-kind.js';
import type { Value } from '../body/value.js';
import type { Regs, VectorBuilder } from '../body/vector-builder.js';

/** Masks of the valid lanes of a group of which `active` are, per register; undefined where all are valid. */
export function laneMasks(
  vb: VectorBuilder,
  kind: ElementKind,
  active: number,
): readonly (Regs | undefined)[] {
  if (registersPerGroup(kind) === 1) {
    return [active >= 4 ? undefined : vb.i32(...[0, 1, 2, 3].map((k) => (k < active ? -1 : 0)))];
  }
  return [0, 2].map((first) =>
    active >= first + 2 ? undefined : vb.i64(...[0, 1].map((k) => (first + k < active ? -1n : 0n))),
  );
}

/** The registers of a value for all groups, a uniform one repeated. */
export function expand(value: Value, groups: number): Regs {
  if (!value.uniform) return value.regs;
  return Array.from({ length: groups * registersPerGroup(value.kind) }, () => value.regs[0]);
}

/** Lanes of a register exchanged: halves (distance 2) or neighbours (distance 1, 32-bit lanes only). */
function swapLanes(vb: VectorBuilder, regs: Regs, distance: 1 | 2): Regs {
  return vb.map([regs], (x) => shuffle32(distance === 2 ? [2, 3, 0, 1] : [1, 0, 3, 2], x, x));
}

/** The first lane of a register in all lanes. */
function splatFirst(vb: VectorBuilder, kind: ElementKind, regs: Regs): Regs {
  if (registersPerGroup(kind) === 2) return vb.map([regs], (x) => shuffle32([0, 1, 0, 1], x, x));
  return vb.map([regs], (x) => op('i32x4.splat', lane('i32x4.extract_lane', 0, x)));
}

/** How two parts, each of a few values, become one. */
export interface Merge {
  readonly merge: (a: readonly Value[], b: readonly Value[]) => readonly Value[];
  /** Whether that gives the same bits whichever comes first. */
  readonly commutes: boolean;
  /** Whether truth values are computed: those of 64-bit lanes stand in one register for two. */
  readonly compares: boolean;
}

/** Merges all groups and lanes of `values` into uniform ones. */
export function joinLanes(
  vb: VectorBuilder,
  { merge, commutes, compares }: Merge,
  values: readonly Value[],
  groups: number,
): Value[] {
  // Where there are 64-bit lanes alone, each register is a part; else their two registers go together.
  const areWide = !compares && values.every(({ kind }) => registersPerGroup(kind) === 2);
  const unit = (kind: ElementKind): number => (areWide ? 1 : registersPerGroup(kind));
  const made = (regs: (value: Value, i: number) => Regs): Value[] =>
    values.map((value, i) => ({ kind: value.kind, uniform: false, regs: regs(value, i) }));
  let whole = made((value) => expand(value, groups));
  const slice = (from: number, to: number): Value[] =>
    made(({ kind }, i) => whole[i]!.regs.slice(from * unit(kind), to * unit(kind)));
  for (let count = areWide ? 2 * groups : groups; count > 1;) {
    const half = Math.ceil(count / 2);
    const joined = merge(slice(0, count - half), slice(half, count));
    const odd = slice(count - half, half);
    whole = made((_, i) => [...joined[i]!.regs, ...odd[i]!.regs]);
    count = half;
  }
  for (const distance of areWide ? ([2] as const) : ([2, 1] as const)) {
    const exchanged = made(({ kind }, i) => {
      const { regs } = whole[i]!;
      if (unit(kind) === 1) return swapLanes(vb, regs, distance);
      return distance === 2 ? [regs[1]!, regs[0]!] : swapLanes(vb, regs, 2);
    });
    whole = [...merge(whole, exchanged)];
  }
  return whole.map(({ kind, regs }) => ({
    kind,
    uniform: true,
    regs: commutes ? regs.slice(0, 1) : splatFirst(vb, kind, regs.slice(0, 1)),
  }));
}
