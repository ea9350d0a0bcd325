/**
 * @file A loop kernel as products of one row with weights of fewer than 32 bits: what a token of a language model costs.
 *
 * Such a kernel sums `x(k) · weight(column, k)` over k for each column, once or several times, and stores what is made of
 * the sums. Row x is the same for all columns, so its values are made once, and weights are taken apart by code of
 * their own.
 */
import { LoopSpace, checksOf, type Expr, type LoopKernel, type Stmt } from '@tessera/inductor-core';
import type { Size } from '@tessera/shared';
import { Dependencies } from '../body/dependencies.js';
import {
  type DepthDigit,
  type GemvLoops,
  type NarrowWeight,
  narrowWeight,
} from './narrow-weight.js';

/** One sum. */
export interface GemvSum {
  readonly id: number;
  /** Over k. */
  readonly x: Expr;
  readonly weight: NarrowWeight;
}

/** See the file header. */
export interface GemvProblem {
  readonly kernel: LoopKernel<Size>;
  readonly loops: GemvLoops;
  readonly sums: readonly GemvSum[];
  /** Over columns; `acc` are the sums. */
  readonly stores: readonly Stmt[];
}

/** Depths are multiples of this: the widest step of any format. */
const DEPTH_STEP = 32;

/** Fewer columns do not repay the code. */
const MIN_COLUMNS = 8;

/** Most values of x that are kept: half of a cache of the second level, as small as they come. */
const MAX_DEPTH = 1 << 15;

/** The kernel in this form, or null. */
export function gemvProblem(kernel: LoopKernel<Size>): GemvProblem | null {
  const [inner, outer, ...others] = kernel.stages;
  if (others.length > 0 || inner?.kind !== 'inner' || outer?.kind !== 'outer') return null;
  const loops = loopsOf(kernel);
  if (loops === null || checksOf(kernel).list.length > 0) return null;
  const sums: GemvSum[] = [];
  for (const stmt of inner.body) {
    const sum = sumOf(stmt, kernel, loops);
    if (sum === null) return null;
    sums.push(sum);
  }
  return { kernel, loops, sums, stores: outer.body };
}

/** One variable of columns, and the digits of k; variables of one value do not count. */
function loopsOf(kernel: LoopKernel<Size>): GemvLoops | null {
  const [column, ...columns] = kernel.outer.filter(({ size }) => size !== 1);
  if (column === undefined || columns.length > 0) return null;
  const { size: count } = column;
  const digits: DepthDigit[] = [];
  let depth = 1;
  for (const { name, size } of kernel.inner.filter((each) => each.size !== 1).toReversed()) {
    if (typeof size !== 'number') return null;
    digits.unshift({ name, size, unit: depth });
    depth *= size;
  }
  if (typeof count !== 'number' || count < MIN_COLUMNS) return null;
  if (digits.length === 0 || digits.at(-1)!.size % 4 !== 0) return null;
  if (depth % DEPTH_STEP !== 0 || depth > MAX_DEPTH) return null;
  return { space: gemvSpace(kernel), column: column.name, columns: count, digits, depth };
}

function sumOf(stmt: Stmt, kernel: LoopKernel<Size>, loops: GemvLoops): GemvSum | null {
  if (stmt.kind !== 'reduce' || stmt.op !== 'sum' || stmt.running === true) return null;
  const { value, ids } = stmt;
  if (stmt.dtype !== 'float32' || value.kind !== 'op' || value.op !== 'mul') return null;
  const deps = new Dependencies(loops.space);
  for (const [x, w] of [value.args, value.args.toReversed()] as [Expr, Expr][]) {
    if (deps.of(x).has(loops.column)) continue;
    const weight = narrowWeight(w, loops, kernel.params);
    if (weight !== null) return { id: ids[0]!, x, weight };
  }
  return null;
}

/** The variables of a kernel, those of one value fixed. */
export function gemvSpace({ outer, inner }: LoopKernel<Size>): LoopSpace {
  const space = new LoopSpace([...outer, ...inner]);
  for (const { name, size } of [...outer, ...inner]) if (size === 1) space.fix(name);
  return space;
}
