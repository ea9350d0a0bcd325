/**
 * @file A product whose results two kernels make between them: some rows and columns are left to a second kernel, the
 * rest, whose groups end at once where there is nothing left. Every result is made by one of the two, from the
 * epilogue's loads to its stores, so that what it is stored over may be what it is made of.
 */
import { type Size, isMultiple, sizeSub } from '@tessera/shared';
import type { Expr } from '../../ir/expr.js';
import type { SizedLoop } from '../../ir/index-expr.js';
import type { MatmulKernel } from '../../ir/kernel.js';
import { extent } from '../../ir/loop-vars.js';
import { placesOf, sum, variable, whole } from '../kernel/places.js';
import type { Routine, RoutineCall } from '../kernel/registers.js';
import type {
  Condition,
  ScheduledBody,
  ScheduledStmt,
  SharedArray,
} from '../kernel/scheduled-kernel.js';

/** A product that makes some of its results. */
export interface PartialMatmul<S extends Size = number> extends MatmulKernel<S> {
  readonly share: ResultShare;
}

/** Which results a product makes; null for all. */
export function shareOf(kernel: MatmulKernel<Size> | PartialMatmul<Size>): ResultShare | null {
  return 'share' in kernel ? kernel.share : null;
}

/** Of 16 bytes: what matrices are loaded from, and stored to, must begin at multiples of those. */
const SOME: SharedArray = { name: 'some.', dtype: 'bool', length: 4, width: 1 };

/** What the schedule of such a product has besides. */
export interface ShareParts {
  readonly routines: readonly Routine[];
  /** Ends a visit of `store_c` for results of the other kernel. */
  readonly exits: ScheduledBody;
  readonly shared: readonly SharedArray[];
  /** Ends the groups that have no results to make, once `batch`, `first_m` and `first_n` are known. */
  readonly begin: ScheduledBody;
}

/** Nothing, where a product makes all of its results. */
export const WHOLE_SHARE: ShareParts = { routines: [], exits: [], shared: [], begin: [] };

/** Which results of a product a kernel stores. It brings the code for that, which products as a whole do without. */
export class ResultShare {
  /**
   * @param rows over batch and m; where it holds, results are left to the rest
   * @param columns over batch and n: where it holds, a result (and its group of four) is left to the rest
   */
  constructor(
    readonly of: 'first' | 'rest',
    readonly rows: Expr,
    readonly columns: Expr,
  ) {}

  /** What a schedule in such tiles has besides. */
  parts(
    kernel: MatmulKernel<Size>,
    tile: { readonly bm: number; readonly bn: number; readonly threads: number },
  ): ShareParts {
    const { rows, columns } = this;
    const { batch, m, n } = kernel;
    const { bm, bn, threads } = tile;
    const isRest = this.of === 'rest';
    const routine = (name: string, x: readonly SizedLoop[], value: Expr): Routine => ({
      name,
      parameters: ['batch', 'at'],
      results: [],
      gives: 'bool',
      body: [
        ...placesOf(batch, variable('batch')),
        ...placesOf(x, variable('at')),
        { kind: 'give', value },
      ],
    });
    const left = (what: string, at: string): RoutineCall => ({
      kind: 'call',
      routine: `left_${what}`,
      at: [variable('batch'), variable(at)],
    });
    const width = extent(n);
    const atMost = isMultiple(width, 4) ? {} : { atMost: sizeSub(width, 1) };
    const lets = [1, 2, 3].map((j): ScheduledStmt => {
      const index = sum(variable('along'), whole(j));
      return { kind: 'let', name: `along.${j}`, index, ...atMost };
    });
    const isLeft: Condition = {
      kind: 'either',
      of: [
        left('row', 'down'),
        ...['along', 'along.1', 'along.2', 'along.3'].map((at) => left('column', at)),
      ],
    };
    const mark = (what: string, cell: number, first: string, length: number, size: Size) => {
      const found = left(what, 'at');
      const where: Condition = isRest ? found : { kind: 'not', of: found };
      return {
        kind: 'loop',
        name: 'at',
        begin: sum(variable(first), variable('lane')),
        ends: [sum(variable(first), whole(length)), whole(size)],
        pace: threads,
        body: [{ kind: 'mark', cell: { array: SOME.name, at: whole(cell) }, where }],
      } as const;
    };
    const has = (i: number): Condition => ({ kind: 'test', name: `has_${i}` });
    const both = [has(0), has(1)];
    return {
      routines: [routine('left_row', m, rows), routine('left_column', n, columns)],
      exits: [...lets, { kind: 'exit', unless: [isRest ? isLeft : { kind: 'not', of: isLeft }] }],
      shared: [SOME],
      begin: [
        mark('row', 0, 'first_m', bm, extent(m)),
        mark('column', 1, 'first_n', bn, width),
        ...[0, 1].map((i): ScheduledStmt => ({
          kind: 'agree',
          name: `has_${i}`,
          cell: { array: SOME.name, at: whole(i) },
        })),
        { kind: 'exit', unless: isRest ? [{ kind: 'either', of: both }] : both },
      ],
    };
  }
}
