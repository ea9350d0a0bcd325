/**
 * @file `KeptRows`: expensive intermediate rows that are kept between the passes of one outer point.
 *
 * Softmax computes exp(x - max) once for the sum and once for the store; a normalisation computes its
 * input for every pass. When such an expression contains a transcendental function and the row is
 * short enough to stay in the cache, the first pass writes it to scratch memory and later passes read it.
 */
import { itemSize, type DType } from '@tessera/tensor';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import { isFloat } from '../../ir/scalar-eval.js';
import { EXPENSIVE_OPS } from '../../ir/scalar-ops.js';
import { type LinearForm, mentions } from '../../ir/linear-form.js';
import { indexOf, operands, postorder } from '../../ir/walk.js';
import type { KeptStmt, ScratchArray } from '../kernel/scheduled-kernel.js';
import type { LoopSpace } from './loop-space.js';
import type { Pass } from './passes.js';

/** Rows begin at multiples of so many bytes. */
const ROW_ALIGNMENT = 64;

interface KeptRow {
  readonly value: Expr;
  readonly array: string;
  /** Number of the pass that computes it. */
  readonly pass: number;
}

/** Type that holds values of an expression exactly as they are computed; null if none does. */
function storageType({ dtype }: Expr): DType | null {
  if (dtype === 'bool') return null;
  if (dtype === 'float64' || dtype === 'int64') return dtype;
  return isFloat(dtype) ? 'float32' : 'int32';
}

/** See the file header. */
export class KeptRows {
  readonly arrays: readonly ScratchArray[];
  private readonly rows: readonly KeptRow[];

  /** `loops` are those of the row, one of them the one along the lanes; `at` is the place in them. */
  constructor(
    passes: readonly Pass[],
    loops: readonly SizedLoop[],
    { lane, space, bytes }: { lane: string; space: LoopSpace; bytes: number },
    private readonly at: IndexExpr,
  ) {
    // A row of any length may be longer than what there is room for.
    const length = loops.reduce(
      (n, { size }) => n * (typeof size === 'number' ? size : Infinity),
      1,
    );
    const arrays: ScratchArray[] = [];
    const rows: KeptRow[] = [];
    let used = 0;
    for (const [value, pass] of repeatedValues(passes, (form) => mentions(form, lane), space)) {
      const dtype = storageType(value);
      if (dtype === null) continue;
      const needed = Math.ceil((length * itemSize(dtype)) / ROW_ALIGNMENT) * ROW_ALIGNMENT;
      if (used + needed > bytes) continue;
      const array = `row.${rows.length}`;
      rows.push({ value, array, pass });
      arrays.push({ name: array, dtype, length });
      used += needed;
    }
    this.arrays = arrays;
    this.rows = rows;
  }

  /** What a pass keeps at each point of the row. */
  kept(pass: number): readonly KeptStmt[] {
    return this.rows.filter((row) => row.pass === pass).map((row) => this.stmt('keep', row));
  }

  /** What a pass recalls at each point of the row. */
  recalled(pass: number): readonly KeptStmt[] {
    return this.rows.filter((row) => row.pass < pass).map((row) => this.stmt('recall', row));
  }

  private stmt(kind: KeptStmt['kind'], { value, array }: KeptRow): KeptStmt {
    return { kind, value, array, at: this.at };
  }
}

/**
 * Expressions that several inner passes evaluate and that are worth keeping, with the first of those
 * passes; only outermost ones that vary along the lanes. Parts of masked expressions are left alone: their loads are conditional.
 */
function repeatedValues(
  passes: readonly Pass[],
  isAlong: (form: LinearForm) => boolean,
  space: LoopSpace,
): Map<Expr, number> {
  const seen = new Map<Expr, number>();
  const found = new Map<Expr, number>();
  const expensive = new Set<Expr>();
  const varying = new Set<Expr>();
  const conditional = new Set<Expr>();
  passes.forEach((pass, number) => {
    if (pass.kind !== 'inner') return;
    const order = postorder(pass.roots);
    for (const expr of order) {
      const parts = operands(expr);
      if (
        (expr.kind === 'op' && EXPENSIVE_OPS.has(expr.op)) ||
        expr.kind === 'random' ||
        parts.some((part) => expensive.has(part))
      )
        expensive.add(expr);
      const index = indexOf(expr);
      if (
        (index !== null && isAlong(space.linear(index))) ||
        parts.some((part) => varying.has(part))
      )
        varying.add(expr);
      if (expr.kind === 'masked') for (const part of postorder([expr.body])) conditional.add(part);
    }
    // Users come after operands, so backwards the outermost repeated expression is met first.
    const covered = new Set<Expr>();
    for (const expr of order.reverse()) {
      const isRepeated =
        seen.has(expr) && expensive.has(expr) && varying.has(expr) && !conditional.has(expr);
      if (covered.has(expr)) for (const operand of operands(expr)) covered.add(operand);
      else if (isRepeated) {
        if (!found.has(expr)) found.set(expr, seen.get(expr)!);
        for (const operand of operands(expr)) covered.add(operand);
      }
    }
    for (const expr of order) if (!seen.has(expr)) seen.set(expr, number);
  });
  return found;
}
