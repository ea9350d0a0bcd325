/**
 * @file The routines of attention in blocks: `begin(rows)`, before the first columns; `weigh(batch, row, rows, turn, first,
 * cols)`, which makes the weights of a block of its scores where these lie; `finish(batch, row, rows)`, behind the last.
 *
 * The largest logit so far and Σ exp(logit − largest) of each row lie in memory between blocks. When a block has a larger
 * logit, what was summed is scaled. A row of nothing but -∞ has weights of 0.
 */
import type { Size } from '@tessera/shared';
import type { Expr, ScalarOp } from '../../ir/expr.js';
import type { AttentionKernel } from '../../ir/kernel.js';
import { placesOf, plus, variable } from '../kernel/places.js';
import type { Routine } from '../kernel/registers.js';
import { inPlace, type StoreStmt, storesOf } from '../kernel/scratch-stores.js';
import type { Accumulator, ScheduledBody, ScheduledStmt } from '../kernel/scheduled-kernel.js';
import { reductionOf } from '../reductions.js';
import type { VectorTarget } from '../vectors/vector-target.js';
import { type BlockFrame, alongColumns, loopOf, PEAKS, TOTALS } from './block-frame.js';

/** Routines, and the kernel with what they compute in place of its own weights and stores. */
export interface BlockRoutines {
  readonly kernel: AttentionKernel<Size>;
  readonly accumulators: readonly Accumulator[];
  readonly routines: readonly Routine[];
  readonly decaying: ReadonlySet<Expr>;
}

/** See the file header. */
export function blockRoutines(frame: BlockFrame, target: VectorTarget): BlockRoutines {
  return new RoutineMaker(frame, target).make();
}

class RoutineMaker {
  private readonly accumulators: readonly Accumulator[];
  private readonly decaying = new Set<Expr>();

  constructor(
    private readonly frame: BlockFrame,
    target: VectorTarget,
  ) {
    const { softmax, accDtype: dtype } = frame.kernel;
    this.accumulators = (softmax ? (['peak', 'sum'] as const) : []).map((op, id) => {
      const reduction = reductionOf({ op, dtype, target: target.arithmetic });
      return { name: op, reduction, ids: [id], dtype };
    });
  }

  make(): BlockRoutines {
    const { kernel } = this.frame;
    const { ir, sums } = this.frame;
    const { softmax } = kernel;
    const along = ir.sym('along', this.frame.blocks.columns);
    // One memo: what weights have in common is computed once.
    const weights = ir.rewrite(kernel.weights, {
      acc: ({ id }) => this.frame.at(`scores.${id}`, along),
    });
    const ofRow = new Map<Expr, Expr>();
    const rowStores = storesOf(
      kernel.rowStores,
      (value) => ir.rewrite([value], { acc: () => this.logSum() }, ofRow)[0]!,
    );
    let epilogue: StoreStmt[] = [];
    const results = this.frame.eachResult((place) => {
      const result = (id: number): Expr => {
        const sum = this.frame.at(sums[id]!, place);
        return softmax ? this.op('div', sum, this.divisor()) : sum;
      };
      const memo = new Map<Expr, Expr>();
      epilogue = storesOf(
        kernel.epilogue,
        (value) => ir.rewrite([value], { acc: ({ id }) => result(id) }, memo)[0]!,
      );
      return epilogue;
    });
    const routine = (
      name: string,
      parameters: readonly string[],
      body: ScheduledBody,
    ): Routine => ({
      name,
      parameters,
      results: [],
      body,
    });
    return {
      kernel: { ...kernel, weights, epilogue, rowStores },
      accumulators: this.accumulators,
      routines: [
        routine('begin', ['rows'], this.begin()),
        routine('weigh', ['batch', 'row', 'rows', 'turn', 'first', 'cols'], this.weigh(weights)),
        routine('finish', ['batch', 'row', 'rows'], this.eachRow([...results, ...rowStores])),
      ],
      decaying: this.decaying,
    };
  }

  /** Nothing is summed yet. */
  private begin(): ScheduledBody {
    const { frame } = this;
    const clear = frame.eachSum((array, column) => frame.set(array, column, this.number(0)));
    const state = frame.kernel.softmax
      ? [frame.set(PEAKS, null, this.number(-Infinity)), frame.set(TOTALS, null, this.number(0))]
      : [];
    return [loopOf('down', variable('rows'), [...state, ...clear])];
  }

  private eachRow(body: ScheduledBody): ScheduledBody {
    const { batch, m } = this.frame.kernel;
    const places = placesOf(m, plus(variable('row'), variable('down')));
    return [
      ...placesOf(batch, variable('batch')),
      loopOf('down', variable('rows'), [...places, ...body]),
    ];
  }

  private weigh(weights: readonly Expr[]): ScheduledBody {
    const { j, softmax } = this.frame.kernel;
    const last = j.at(-1)!;
    const column: ScheduledStmt = {
      kind: 'let',
      name: last.name,
      index: plus(variable('first'), variable('along')),
    };
    const turn = placesOf(j.slice(0, -1), variable('turn'));
    const row = softmax
      ? this.softmaxRow(weights[0]!, column)
      : alongColumns([column, ...this.stores(weights)]);
    return [...turn, ...this.eachRow(row)];
  }

  /** Weights go to where the scores are. */
  private stores(weights: readonly Expr[]): StoreStmt[] {
    const { frame } = this;
    const along = frame.ir.sym('along', frame.blocks.columns);
    return inPlace(
      weights.map((value, q) => frame.set(`scores.${q}`, along, value)),
      (array) => frame.declare(`${array}.next`),
      ({ buf }) => frame.at(buf, along),
    );
  }

  private softmaxRow(logit: Expr, column: ScheduledStmt): ScheduledBody {
    const { frame } = this;
    const { ir } = frame;
    const along = ir.sym('along', frame.blocks.columns);
    const [before, zero, lowest] = [frame.at(PEAKS, null), this.number(0), this.number(-Infinity)];
    const peak = this.op('maximum', before, ir.acc(logit.dtype, 0));
    const shift = ir.op('where', [ir.op('eq', [peak, lowest]), zero, peak]);
    const weight = this.exp(this.op('sub', frame.at('scores.0', along), shift));
    const factor = this.exp(this.op('sub', before, shift));
    const update = (of: string, value: Expr): ScheduledStmt => ({
      kind: 'update',
      of,
      value,
      at: along,
    });
    const reduced = (of: readonly string[], body: ScheduledBody): ScheduledBody => [
      { kind: 'start', of },
      ...body,
      { kind: 'part', of },
      { kind: 'fold', of },
      { kind: 'finish', of },
    ];
    return [
      ...reduced(
        ['peak'],
        alongColumns([column, update('peak', logit), frame.set('scores.0', along, logit)]),
      ),
      ...reduced(
        ['sum'],
        alongColumns([update('sum', weight), frame.set('scores.0', along, weight)]),
      ),
      ...frame.eachSum((array, element) =>
        frame.set(array, element, this.op('mul', frame.at(array, element), factor)),
      ),
      frame.set(
        TOTALS,
        null,
        this.op('add', this.op('mul', frame.at(TOTALS, null), factor), ir.acc(logit.dtype, 1)),
      ),
      frame.set(PEAKS, null, peak),
    ];
  }

  /** What sums of a row are divided by. */
  private divisor(): Expr {
    const { ir } = this.frame;
    const total = this.frame.at(TOTALS, null);
    return ir.op('where', [ir.op('eq', [total, this.number(0)]), this.number(1), total]);
  }

  private logSum(): Expr {
    const { ir } = this.frame;
    const [peak, total] = [this.frame.at(PEAKS, null), this.frame.at(TOTALS, null)];
    const isEmpty = ir.op('eq', [peak, this.number(-Infinity)]);
    return ir.op('where', [isEmpty, peak, this.op('add', peak, ir.op('log', [total]))]);
  }

  /** Of what is not above zero. */
  private exp(value: Expr): Expr {
    const made = this.frame.ir.op('exp', [value]);
    this.decaying.add(made);
    return made;
  }

  private op(name: ScalarOp, a: Expr, b: Expr): Expr {
    return this.frame.ir.op(name, [a, b]);
  }

  private number(value: number): Expr {
    return this.frame.ir.const(this.frame.kernel.accDtype, value);
  }
}
