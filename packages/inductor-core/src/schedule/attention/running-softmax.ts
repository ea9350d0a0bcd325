/**
 * @file A softmax over tiles of logits: largest logit and sum of each of a thread's rows, in registers of four rows.
 *
 * The largest is known to all threads of a row (they exchange it at each tile), a sum is each thread's own until the
 * end. Modelled on FlashAttention (Dao et al., 2022).
 */
import { sum, variable, whole } from '../kernel/places.js';
import { apply, begin, number, read, register, set, write } from '../kernel/register-values.js';
import type { RegisterValue } from '../kernel/registers.js';
import type { ScheduledBody, ScheduledStmt, SharedArray } from '../kernel/scheduled-kernel.js';
import type { ProductTarget } from '../products/product-tiles.js';
import { rowBits } from '../products/product-threads.js';
import { type AttentionTile, tileColumns } from './attention-tiles.js';
import { downOf, rowShift } from './tile-rows.js';

/** Below all logits but -∞; finite, so that differences are numbers. */
const LOWEST = -3.4028234663852886e38;

const ROWS = 'rows.';

/** What a softmax is over. */
export interface SoftmaxTiles {
  readonly tile: AttentionTile;
  /** Registers of logits, by row and vector of columns. */
  readonly logits: readonly (readonly string[])[];
  readonly target: ProductTarget;
  /**
   * By how much logits may exceed what weights are relative to: the larger, the more seldom results are to be scaled,
   * and the larger weights become.
   */
  readonly slack?: number;
  /** All threads of a row are of one subgroup, which exchange values without memory. */
  readonly inSubgroup?: boolean;
}

/** See the file header. Rows are numbered as a thread has them. */
export class RunningSoftmax {
  private readonly groups: readonly number[];
  private readonly bits: readonly number[] | null;

  constructor(private readonly tiles: SoftmaxTiles) {
    const { tile, target, inSubgroup = false } = tiles;
    this.groups = Array.from({ length: tile.tm / 4 }, (_, r) => r);
    this.bits = inSubgroup ? rowBits(tile, target) : null;
  }

  /** Memory in which rows meet. */
  get shared(): readonly SharedArray[] {
    const { tile } = this.tiles;
    if (this.bits !== null) return [];
    const rows = { rows: tileColumns(tile), length: tile.bm / 4 };
    return [{ name: ROWS, dtype: 'float32', width: 4, ...rows }];
  }

  get begin(): ScheduledBody {
    return this.groups.flatMap((r): ScheduledBody => [
      begin(`peak${r}`, number(LOWEST)),
      { kind: 'clear', of: [`total${r}`] },
    ]);
  }

  /**
   * Makes logits into weights relative to the largest so far. What there is of results is to be shrunk to it; with slack,
   * test `grows` says whether a row of this thread is.
   */
  get advance(): ScheduledBody {
    // Software adapters have an exponential of their own that is never 0.
    const op = this.tiles.target.software ? 'exp' : 'quick exp';
    const exp = (value: RegisterValue): RegisterValue => apply(op, value);
    const { slack = 0, logits } = this.tiles;
    const named = (name: string, r: number): RegisterValue => register(`${name}${r}`);
    const limit = (r: number): RegisterValue => apply('add', named('peak', r), number(slack));
    const raised = (r: number): RegisterValue =>
      slack === 0
        ? apply('larger', named('next', r), named('peak', r))
        : apply('greater', named('next', r), limit(r), named('next', r), named('peak', r));
    return [
      ...this.groups.map((r) => begin(`next${r}`, this.folded(r, 'larger'))),
      ...this.exchange('next', 'larger'),
      ...(slack === 0 ? [] : [this.grows(limit)]),
      ...this.groups.flatMap((r) => [
        set(`next${r}`, raised(r)),
        set(`shrink${r}`, exp(apply('sub', named('peak', r), named('next', r)))),
        set(`peak${r}`, named('next', r)),
      ]),
      ...logits.flatMap((names, i) =>
        names.map((name) => set(name, exp(apply('sub', register(name), rowOf('peak', i))))),
      ),
      ...this.groups.map((r) =>
        set(
          `total${r}`,
          apply('add', apply('mul', named('total', r), named('shrink', r)), this.folded(r, 'add')),
        ),
      ),
    ];
  }

  /** What the results of a row are to be multiplied with after `advance`. */
  shrink(i: number): RegisterValue {
    return rowOf('shrink', i);
  }

  /** Finds the sums of the rows. */
  get finish(): ScheduledBody {
    const total = (r: number): RegisterValue => register(`total${r}`);
    return [
      ...this.exchange('total', 'add'),
      ...this.groups.map((r) =>
        set(`divisor${r}`, apply('equal', total(r), number(0), number(1), total(r))),
      ),
    ];
  }

  /** What a row of results is to be divided by; a row without weights gives zeros. */
  divisor(i: number): RegisterValue {
    return rowOf('divisor', i);
  }

  /** Passes log Σ exp of each row to `store_row`. */
  get storeRows(): ScheduledStmt {
    const { tile, logits } = this.tiles;
    const body = logits.map((_, i): ScheduledStmt => {
      const logSum = apply('add', rowOf('peak', i), apply('log', this.divisor(i)));
      const shown = apply('equal', rowOf('total', i), number(0), number(-Infinity), logSum);
      const at = [variable('batch'), downOf(tile, i)];
      return { kind: 'visit', routine: 'store_row', at, of: [shown] };
    });
    return { kind: 'when', all: [{ kind: 'first', index: variable('column') }], body };
  }

  private grows(limit: (r: number) => RegisterValue): ScheduledStmt {
    const of = this.groups.map(
      (r) => ({ kind: 'exceeds', value: register(`next${r}`), limit: limit(r) }) as const,
    );
    return {
      kind: 'test',
      name: 'grows',
      all: [of.length === 1 ? of[0]! : { kind: 'either', of }],
    };
  }

  /** Combines registers of that name of all threads of a row, in the same order in each. */
  private exchange(name: string, by: 'add' | 'larger'): ScheduledBody {
    const { tile } = this.tiles;
    const of = this.groups.map((r) => `${name}${r}`);
    if (this.bits !== null) return this.bits.map((bit) => ({ kind: 'pair', of, by, bit }) as const);
    const row = (r: number) => sum(variable('row'), whole(rowShift(tile, r)));
    const other = variable('other');
    return [
      ...of.map((each, r) => write(ROWS, variable('column'), row(r), register(each))),
      { kind: 'barrier' },
      ...of.map((each, r) => set(each, read(ROWS, whole(0), row(r)))),
      {
        kind: 'loop',
        name: 'other',
        begin: whole(1),
        ends: [whole(tileColumns(tile))],
        pace: 1,
        body: of.map((each, r) => set(each, apply(by, register(each), read(ROWS, other, row(r))))),
      },
    ];
  }

  /** All logits of four rows together, one of each. */
  private folded(r: number, by: 'add' | 'larger'): RegisterValue {
    const rows = this.tiles.logits.slice(4 * r, 4 * r + 4);
    return { kind: 'pack', of: rows.map((of) => ({ kind: 'fold', by, of }) as const) };
  }
}

function rowOf(name: string, i: number): RegisterValue {
  return register(`${name}${i >> 2}`, i & 3);
}
