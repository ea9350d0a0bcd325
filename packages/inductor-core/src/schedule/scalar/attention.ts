/**
 * @file Attention on a machine that does one thing after another: the weights of one row at a time, in scratch memory.
 *
 * For each row: scores, and of them the weights; with a softmax, first the logits with their online softmax, then the
 * weights of these. After that each result of the row is a sum over the weights. A row of nothing but -∞ weighs nothing.
 */
import { type Size, TesseraError, sizeProduct } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import type { Expr } from '../../ir/expr.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import type { AttentionKernel } from '../../ir/kernel.js';
import type { ScratchArray } from '../kernel/scheduled-kernel.js';
import type { ScalarBody, ScalarKernel } from './scalar-kernel.js';
import {
  type ReductionStmts,
  type ScalarSchedule,
  type StoreStmt,
  storesOf,
} from './scalar-schedule.js';

/** Greatest logit of a row and Σ exp(logit - greatest). */
interface Softmax {
  readonly peak: Expr;
  readonly total: Expr;
  readonly stmts: ReductionStmts;
}

/** One kernel: results are numbered first, then scores, then what softmaxes need. */
class AttentionSchedule {
  private readonly place: IndexExpr;
  private readonly scratch: readonly ScratchArray[];
  /** Type of weights. */
  private readonly dtype: DType;

  constructor(
    private readonly schedule: ScalarSchedule,
    private readonly kernel: AttentionKernel<Size>,
  ) {
    const { j, weights, accDtype, columnSums, weightStores } = kernel;
    if (columnSums.length + weightStores.length > 0)
      throw new TesseraError(
        'kernel-missing',
        `Attention '${kernel.name}' sums over its rows or stores weights, which is not scheduled for one thing after another.`,
        {
          context: { kernel: kernel.name },
          hints: [
            'Leave `sumsColumns` and `keepsWeights` out of the limits of `AttentionKernels`.',
          ],
        },
      );
    this.place = schedule.place(j);
    this.dtype = schedule.wide(accDtype);
    const length = sizeProduct(j.map(({ size }) => size));
    this.scratch = weights.map((_, q) => ({ name: `weights${q}`, dtype: this.dtype, length }));
  }

  done(): ScalarKernel {
    const { batch, m, softmax } = this.kernel;
    const row = softmax ? this.softmaxRow() : this.plainRow();
    return this.schedule.done([...batch, ...m], [...row, ...this.results()], this.scratch);
  }

  /** A weight (or logit) that is in memory. */
  private kept(q: number): Expr {
    return this.schedule.ir.load(this.dtype, this.scratch[q]!.name, this.place);
  }

  private keep(q: number, value: Expr): StoreStmt {
    const { name } = this.scratch[q]!;
    return { kind: 'store', buf: name, index: this.place, value };
  }

  /** A body at all columns of a row that may weigh anything. */
  private columns(body: ScalarBody): ScalarBody {
    const { schedule } = this;
    const { ir } = schedule;
    const { m, j, triangle } = this.kernel;
    const [row, column] = [m.at(-1), j.at(-1)];
    if (triangle === 'none' || row === undefined || column === undefined)
      return schedule.nest(j, body);
    const [here, all] = [ir.sym(row.name), ir.size(column.size)];
    const loop =
      triangle === 'lower'
        ? schedule.loop(column, [all, ir.add(here, ir.int(1))], body)
        : schedule.loop(column, [all], body, here);
    return schedule.nest(j.slice(0, -1), [loop]);
  }

  /** All scores at a column. */
  private scored(): ScalarBody {
    const { scores, weights, k, accDtype } = this.kernel;
    const products = scores.map(({ a, b }, p) =>
      this.schedule.sumOfProducts({ id: weights.length + p, a, b, dtype: accDtype }, k),
    );
    return this.schedule.during(products, (inside) => this.schedule.nest(k, inside));
  }

  /** Weights, or logits, as expressions of the scores. */
  private weights(): readonly Expr[] {
    const { ir } = this.schedule;
    const { weights } = this.kernel;
    return ir
      .rewrite(weights, { acc: ({ dtype, id }) => ir.acc(dtype, weights.length + id) })
      .map((weight) => ir.cast(weight, this.dtype));
  }

  private plainRow(): ScalarBody {
    const kept = this.weights().map((weight, q) => this.keep(q, weight));
    return this.columns([...this.scored(), ...kept]);
  }

  private softmaxRow(): ScalarBody {
    const { ir } = this.schedule;
    const logits = this.weights();
    const made = logits.map((logit, q) => this.softmax(logit, q));
    const first = this.schedule.during(
      made.map(({ stmts }) => stmts),
      (inside) => {
        const kept = logits.map((logit, q) => this.keep(q, logit));
        return this.columns([...this.scored(), ...inside, ...kept]);
      },
    );
    const weights = made.map(({ peak, total }, q) => {
      const exponential = ir.op('exp', [ir.op('sub', [this.kept(q), peak])]);
      const weight = ir.op('div', [exponential, total]);
      return this.keep(q, ir.op('where', [this.isEmpty(peak), ir.const(this.dtype, 0), weight]));
    });
    return [...first, ...this.columns(weights), ...this.rowStores(made[0]!)];
  }

  private softmax(logit: Expr, q: number): Softmax {
    const { schedule, dtype } = this;
    const { weights, scores, j } = this.kernel;
    const id = weights.length + scores.length + 2 * q;
    const [peak, total] = [schedule.ir.acc(dtype, id), schedule.ir.acc(dtype, id + 1)];
    const stmts = schedule.reduce(
      { op: 'online_softmax', ids: [id, id + 1], dtype, value: logit },
      j,
    );
    return { peak, total, stmts };
  }

  private isEmpty(peak: Expr): Expr {
    const { ir } = this.schedule;
    return ir.op('eq', [peak, ir.const(this.dtype, -Infinity)]);
  }

  private rowStores({ peak, total }: Softmax): readonly StoreStmt[] {
    const { ir } = this.schedule;
    const sum = ir.op('add', [peak, ir.op('log', [total])]);
    const logSum = ir.op('where', [this.isEmpty(peak), peak, sum]);
    return storesOf(this.kernel.rowStores).map((stmt) => {
      const acc = (): Expr => ir.cast(logSum, this.kernel.accDtype);
      return { ...stmt, value: ir.rewrite([stmt.value], { acc })[0]! };
    });
  }

  private results(): ScalarBody {
    const { values, accDtype, j, n, epilogue } = this.kernel;
    const sums = values.map((value, q) =>
      this.schedule.sumOfProducts({ id: q, a: this.kept(q), b: value, dtype: accDtype }, j),
    );
    return this.schedule.nest(n, [
      ...this.schedule.during(sums, (inside) => this.columns(inside)),
      ...storesOf(epilogue),
    ]);
  }
}

/** See the file header. */
export function scheduleAttention(
  schedule: ScalarSchedule,
  kernel: AttentionKernel<Size>,
): ScalarKernel {
  return new AttentionSchedule(schedule, kernel).done();
}
