/**
 * @file A loop kernel as products of few rows with weights of fewer than 32 bits: what a token of a language model costs.
 *
 * Such a kernel sums `x(row, k) · weight(column, k)` over k for each column, once or several times, and stores what is made
 * of the sums. A row is the same for all columns, so its values are made once, and weights are taken apart by code of
 * their own.
 */
import type { Size } from '@tessera/shared';
import { dependents } from '../../../ir/dependents.js';
import type { Expr, Stmt } from '../../../ir/expr.js';
import type { SizedLoop } from '../../../ir/index-expr.js';
import type { LoopKernel, Stage } from '../../../ir/kernel.js';
import type { NarrowWeight } from '../../kernel/narrow-weight.js';
import { LoopSpace } from '../../vectors/loop-space.js';
import { type Digit, type GemvLoops, narrowWeight } from './find-weight.js';

/** One sum. */
export interface GemvSum {
  readonly id: number;
  /** Over k. */
  readonly x: Expr;
  /** The values of the weight, and how they lie. */
  readonly w: Expr;
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

/** The kernel in this form, of up to so many k; or null. */
export function gemvProblem(kernel: LoopKernel<Size>, most: number): GemvProblem | null {
  const [inner, outer, ...others] = kernel.stages;
  if (others.length > 0 || inner?.kind !== 'inner' || outer?.kind !== 'outer') return null;
  const first = kernel.outer.find(({ size }) => size !== 1) ?? null;
  for (const row of [null, first]) {
    const loops = loopsOf(kernel, row, most);
    const sums = loops === null ? null : sumsOf(kernel, inner, loops);
    if (sums !== null) return { kernel, loops: loops!, sums, stores: outer.body };
  }
  return null;
}

/** What the inner stage sums, if that is all it does. */
function sumsOf(kernel: LoopKernel<Size>, { body }: Stage, loops: GemvLoops): GemvSum[] | null {
  const sums: GemvSum[] = [];
  for (const stmt of body) {
    const sum = sumOf(stmt, kernel, loops);
    if (sum === null) return null;
    sums.push(sum);
  }
  return sums;
}

/** The variables of a list as digits of one number; those of one value do not count. Null for symbolic sizes. */
function digitsOf(vars: readonly SizedLoop[]): { digits: Digit[]; count: number } | null {
  const digits: Digit[] = [];
  let count = 1;
  for (const { name, size } of vars.filter((each) => each.size !== 1).toReversed()) {
    if (typeof size !== 'number') return null;
    digits.unshift({ name, size, unit: count });
    count *= size;
  }
  return { digits, count };
}

function loopsOf(kernel: LoopKernel<Size>, row: SizedLoop | null, most: number): GemvLoops | null {
  if (row !== null && typeof row.size !== 'number') return null;
  const along = kernel.outer.filter((each) => each !== row);
  const [column, k] = [digitsOf(along), digitsOf(kernel.inner)];
  if (column === null || column.count < MIN_COLUMNS) return null;
  if (column.digits.length > 1 && column.digits.at(-1)!.size % 4 !== 0) return null;
  if (k === null || k.digits.length === 0 || k.digits.at(-1)!.size % 4 !== 0) return null;
  if (k.count % DEPTH_STEP !== 0 || k.count > most) return null;
  return {
    space: gemvSpace(kernel),
    row: row as GemvLoops['row'],
    column: column.digits,
    columns: column.count,
    digits: k.digits,
    depth: k.count,
  };
}

function sumOf(stmt: Stmt, kernel: LoopKernel<Size>, loops: GemvLoops): GemvSum | null {
  if (stmt.kind !== 'reduce' || stmt.op !== 'sum' || stmt.running === true) return null;
  const { value, ids } = stmt;
  if (stmt.dtype !== 'float32' || value.kind !== 'op' || value.op !== 'mul') return null;
  const columns = new Set(loops.column.map(({ name }) => name));
  for (const [x, w] of [value.args, value.args.toReversed()]) {
    if (dependents([x!], columns).has(x!)) continue;
    const weight = narrowWeight(w!, loops, kernel.params);
    if (weight !== null) return { id: ids[0]!, x: x!, w: w!, weight };
  }
  return null;
}

/** The variables of a kernel, those of one value fixed. */
function gemvSpace({ outer, inner }: LoopKernel<Size>): LoopSpace {
  const space = new LoopSpace([...outer, ...inner]);
  for (const { name, size } of [...outer, ...inner]) if (size === 1) space.fix(name);
  return space;
}
