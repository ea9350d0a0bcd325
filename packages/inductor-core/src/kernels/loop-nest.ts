/**
 * @file Settling the loops of a kernel: split where indices divide, order by stride, merge what is
 * contiguous.
 *
 * Works on the kernel's index expressions alone and yields what each old variable is in terms of the
 * new ones. Splitting `x` where `x div 64` and `x mod 64` appear makes both plain variables; merging
 * joins neighbours that always move together, so that a contiguous tensor is one long loop.
 */
import {
  type Size,
  isMultiple,
  sizeFloorDiv,
  sizeHint,
  sizeMul,
  sizeProduct,
} from '@tessera/shared';
import type { IrBuilder } from '../ir/build.js';
import type { IndexExpr, SizedLoop } from '../ir/index-expr.js';
import { divisorOf } from '../ir/index-bounds.js';
import { strideOf } from '../ir/linear-form.js';

/** Loops under construction: their variables, and the old variables in terms of them. */
export interface Nest {
  readonly vars: readonly SizedLoop[];
  readonly old: ReadonlyMap<string, IndexExpr>;
}

/** Distances at which `x div d` or `x mod d` cut a variable. */
function cutsOf(indices: readonly IndexExpr[]): Map<string, Set<Size>> {
  const cuts = new Map<string, Set<Size>>();
  const add = (name: string, at: Size): void => {
    const set = cuts.get(name) ?? new Set();
    cuts.set(name, set.add(at));
  };
  const seen = new Set<IndexExpr>();
  const stack = [...indices];
  while (stack.length > 0) {
    const e = stack.pop()!;
    if (seen.has(e)) continue;
    seen.add(e);
    if (e.kind === 'add') stack.push(...e.terms);
    else if (e.kind === 'mul') stack.push(...e.factors);
    else if (e.kind === 'div' || e.kind === 'mod') {
      const by = divisorOf(e.den);
      if (by === null) continue;
      stack.push(e.num);
      const inner = e.num.kind === 'div' ? divisorOf(e.num.den) : null;
      if (e.num.kind === 'sym') add(e.num.name, by);
      else if (
        e.kind === 'mod' &&
        e.num.kind === 'div' &&
        e.num.num.kind === 'sym' &&
        inner !== null
      )
        add(e.num.num.name, sizeMul(inner, by));
    }
  }
  return cuts;
}

/** Cuts that divide the size and each other, from the finest. */
function chain(cuts: ReadonlySet<Size>, size: Size): Size[] {
  const list: Size[] = [];
  for (const cut of [...cuts].sort((a, b) => sizeHint(a) - sizeHint(b))) {
    const isWhole = cut !== 1 && cut !== 0 && cut !== size && isMultiple(size, cut);
    if (isWhole && isMultiple(cut, list[list.length - 1] ?? 1)) list.push(cut);
  }
  return list;
}

/** Splits variables where indices divide them. */
export function splitLoops(
  ir: IrBuilder,
  vars: readonly SizedLoop[],
  indices: readonly IndexExpr[],
): Nest {
  const cuts = cutsOf(indices);
  const result: SizedLoop[] = [];
  const old = new Map<string, IndexExpr>();
  for (const v of vars) {
    const units: Size[] = [1, ...chain(cuts.get(v.name) ?? new Set(), v.size)];
    if (units.length === 1) {
      result.push(v);
      continue;
    }
    let whole = ir.int(0);
    for (let i = units.length - 1; i >= 0; i--) {
      const size = sizeFloorDiv(units[i + 1] ?? v.size, units[i]!);
      const digit = { name: `${v.name}.${i}_${String(size)}`, size };
      result.push(digit);
      whole = ir.add(whole, ir.scale(ir.sym(digit.name, size), units[i]!));
    }
    old.set(v.name, whole);
  }
  return { vars: result, old };
}

/**
 * Orders loops so that the last moves with the smallest stride. `indices` come in order of importance:
 * the first that tells two loops apart decides.
 */
export function orderLoops(
  ir: IrBuilder,
  vars: readonly SizedLoop[],
  indices: readonly IndexExpr[],
): SizedLoop[] {
  const strides = vars.map((v) => indices.map((index) => strideOf(ir.linear(index), v.name)));
  const before = (a: number, b: number): boolean => {
    for (let i = 0; i < indices.length; i++) {
      const sa = Math.abs(sizeHint(strides[a]![i] ?? 0));
      const sb = Math.abs(sizeHint(strides[b]![i] ?? 0));
      if (sa !== 0 && sb !== 0 && sa !== sb) return sa > sb;
    }
    return a < b;
  };
  const order: number[] = [];
  for (let i = 0; i < vars.length; i++) {
    let at = order.length;
    while (at > 0 && before(i, order[at - 1]!)) at--;
    order.splice(at, 0, i);
  }
  return order.map((i) => vars[i]!);
}

/** Merges neighbouring loops that every index treats as one. */
export function mergeLoops(
  ir: IrBuilder,
  vars: readonly SizedLoop[],
  indices: readonly IndexExpr[],
): Nest {
  const result: SizedLoop[] = [];
  const strides = new Map<string, (Size | null)[]>();
  const stridesOf = (v: SizedLoop): (Size | null)[] =>
    indices.map((index) => strideOf(ir.linear(index), v.name));
  const parts = new Map<string, readonly SizedLoop[]>();
  for (const v of vars) {
    const own = stridesOf(v);
    const last = result[result.length - 1];
    const above = last === undefined ? null : strides.get(last.name)!;
    if (
      last !== undefined &&
      above !== null &&
      own.every((stride, i) => stride !== null && above[i] === sizeMul(stride, v.size))
    ) {
      const merged = { name: `${last.name}*${v.name}`, size: sizeMul(last.size, v.size) };
      result[result.length - 1] = merged;
      parts.set(merged.name, [...(parts.get(last.name) ?? [last]), v]);
      strides.set(merged.name, own);
    } else {
      result.push(v);
      strides.set(v.name, own);
    }
  }
  const old = new Map<string, IndexExpr>();
  for (const v of result) {
    const pieces = parts.get(v.name);
    if (pieces === undefined) continue;
    pieces.forEach((piece, i) => {
      const below = sizeProduct(pieces.slice(i + 1).map(({ size }) => size));
      const digit = ir.div(ir.sym(v.name, v.size), below);
      old.set(piece.name, i === 0 ? digit : ir.mod(digit, piece.size));
    });
  }
  return { vars: result, old };
}
