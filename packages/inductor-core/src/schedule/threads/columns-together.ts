/**
 * @file `columnsTogether`: neighbouring columns of a product with a row are summed by the same threads.
 *
 * What the columns have in common, the row and all that is made of it, is loaded and computed once for both, and threads
 * have the loads of both under way. The columns' variable becomes two. Of the second, `column`, inner stages do not depend:
 * they make the sums of each of its values. Outer stages take the sum that is theirs, so the threads that share a
 * point can share them, too (`ReductionForm.spread`).
 */
import type { Size } from '@tessera/shared';
import { IrBuilder } from '../../ir/build.js';
import { dependents } from '../../ir/dependents.js';
import type { Expr, Stmt } from '../../ir/expr.js';
import type { IndexExpr, SizedLoop } from '../../ir/index-expr.js';
import type { LoopKernel } from '../../ir/kernel.js';
import { fastest } from '../../ir/loop-vars.js';

/** Columns that threads take together; four take registers that other threads need. */
const COLUMNS = 2;

/** A kernel whose inner stages do not depend on `column`, the last of its outer variables. */
interface KernelOfColumns {
  readonly kernel: LoopKernel<Size>;
  readonly column: SizedLoop<number>;
}

type Reduce = Extract<Stmt, { kind: 'reduce' }>;

/** See the file header; null where columns are no whole number of pairs, or inner stages do more than to reduce. */
export function columnsTogether(kernel: LoopKernel<Size>): KernelOfColumns | null {
  const along = fastest(kernel.outer);
  if (typeof along?.size !== 'number' || along.size % COLUMNS !== 0) return null;
  const inner = kernel.stages.filter(({ kind }) => kind === 'inner');
  const reduces = inner.flatMap((stage) => stage.body);
  if (!reduces.every(isSingle)) return null;
  const pairs = { name: along.name, size: along.size / COLUMNS };
  const column = { name: columnName(kernel), size: COLUMNS };
  const rewriter = new ColumnRewriter(kernel, pairs, column, reduces);
  const stages = kernel.stages.map((stage) => ({
    ...stage,
    body: stage.body.flatMap((stmt) => rewriter.statements(stmt)),
  }));
  const outer = kernel.outer.flatMap((loop) => (loop === along ? [pairs, column] : [loop]));
  return { kernel: { ...kernel, outer, stages }, column };
}

function isSingle(stmt: Stmt): stmt is Reduce {
  return stmt.kind === 'reduce' && stmt.ids.length === 1;
}

/** A name that no variable of the kernel has. */
function columnName({ outer, inner }: LoopKernel<Size>): string {
  let name = 'column';
  while ([...outer, ...inner].some((loop) => loop.name === name)) name += '_';
  return name;
}

/** A place in place of the columns' variable. */
type Substitution = (name: string) => IndexExpr | undefined;

class ColumnRewriter {
  private readonly ir = new IrBuilder();
  /** Results by the one that they stand for, one of each column. */
  private readonly results = new Map<number, readonly number[]>();
  /** Each column, with what is rewritten for it. */
  private readonly columns: readonly (readonly [Substitution, Map<Expr, Expr>])[];
  private readonly any: Substitution;
  private readonly memo = new Map<Expr, Expr>();

  constructor(
    kernel: LoopKernel<Size>,
    pairs: SizedLoop<number>,
    private readonly column: SizedLoop<number>,
    reduces: readonly Reduce[],
  ) {
    const { ir } = this;
    for (const { name, size } of [...kernel.outer, ...kernel.inner, column])
      ir.sym(name, name === pairs.name ? pairs.size : size);
    const first = ir.mul(ir.sym(pairs.name), ir.int(COLUMNS));
    const placed = (within: IndexExpr): Substitution => {
      const place = ir.add(first, within);
      return (name) => (name === pairs.name ? place : undefined);
    };
    this.columns = Array.from({ length: COLUMNS }, (_, i) => [placed(ir.int(i)), new Map()]);
    this.any = placed(ir.sym(column.name));
    const values = reduces.map(({ value }) => value);
    const varying = dependents(values, new Set([pairs.name]));
    let next = Math.max(...reduces.map(({ ids }) => ids[0]!)) + 1;
    for (const { ids, value } of reduces)
      if (varying.has(value))
        this.results.set(
          ids[0]!,
          Array.from({ length: COLUMNS }, (_, i) => (i === 0 ? ids[0]! : next++)),
        );
  }

  statements(stmt: Stmt): readonly Stmt[] {
    return stmt.kind === 'store' ? [this.stored(stmt)] : this.reduced(stmt);
  }

  /** A reduction of each column, or one where they have it in common. */
  private reduced(stmt: Reduce): readonly Stmt[] {
    const ids = this.results.get(stmt.ids[0]!) ?? stmt.ids;
    return ids.map((id, i) => {
      const [symbol, memo] = this.columns[i]!;
      const [value] = this.ir.rewrite([stmt.value], { symbol }, memo);
      return { ...stmt, ids: [id], value: value! };
    });
  }

  private stored(stmt: Extract<Stmt, { kind: 'store' }>): Stmt {
    const { ir, any: symbol, memo } = this;
    const acc = ({ dtype, id }: Extract<Expr, { kind: 'acc' }>): Expr | undefined =>
      this.results
        .get(id)
        ?.map((each) => ir.acc(dtype, each))
        .reduceRight((later, each, i) => ir.op('where', [this.isAt(i), each, later]));
    const rewritten = (value: Expr): Expr => ir.rewrite([value], { symbol, acc }, memo)[0]!;
    const index = ir.substituteIndex(stmt.index, symbol, rewritten);
    return { ...stmt, index, value: rewritten(stmt.value) };
  }

  private isAt(column: number): Expr {
    const { ir } = this;
    return ir.op('eq', [ir.index('int32', ir.sym(this.column.name)), ir.const('int32', column)]);
  }
}
