/**
 * @file The weights of a tile: computed of the scores in registers, and laid in shared memory by column.
 */
import type { Size } from '@tessera/shared';
import type { AttentionKernel } from '../../ir/kernel.js';
import { sum, variable, whole } from '../kernel/places.js';
import { read, register, set, write } from '../kernel/register-values.js';
import type { RegisterValue } from '../kernel/registers.js';
import type { IndexExpr } from '../../ir/index-expr.js';
import type { ScheduledBody, ScheduledStmt, SharedArray } from '../kernel/scheduled-kernel.js';
import { registerBlock } from '../products/register-block.js';
import type { AttentionTile } from './attention-tiles.js';
import { alongOf, downOf, rowShift } from './tile-rows.js';

const WEIGHTS = 'weights.';

/** Registers by row and vector of columns. */
export type TileRegisters = readonly (readonly string[])[];

/** The registers of all weights: those of the scores, and others where there are more. */
export function weightRegisters(
  { weights }: AttentionKernel<Size>,
  { tm, tn }: AttentionTile,
  scores: readonly TileRegisters[],
): readonly TileRegisters[] {
  return weights.map((_, q) => scores[q] ?? registerBlock(`w${q}_`, tm, tn / 4));
}

/** Replaces scores by weights; `place` is the batch of columns. */
export function weighScores(
  tile: AttentionTile,
  place: IndexExpr,
  scores: readonly TileRegisters[],
  weights: readonly TileRegisters[],
): ScheduledBody {
  const at = (i: number, g: number): IndexExpr[] => [
    place,
    downOf(tile, i),
    sum(variable('first_j'), alongOf(tile, g)),
  ];
  return [
    ...weights.slice(scores.length).map((block) => ({ kind: 'clear', of: block.flat() }) as const),
    ...weights[0]!.flatMap((row, i) =>
      row.flatMap((_, g): ScheduledBody => {
        const of = scores.map((block) => register(block[i]![g]!));
        const made = weights.map((__, q): RegisterValue => ({
          kind: 'call',
          routine: `weigh${q}`,
          at: at(i, g),
          of,
        }));
        if (made.length === 1) return [set(weights[0]![i]![g]!, made[0]!)];
        // All are made of the scores, whose registers they take.
        const name = (q: number): string => `weight${q}_${i}_${g}`;
        return [
          ...made.map((value, q) => set(name(q), value)),
          ...weights.map((block, q) => set(block[i]![g]!, register(name(q)))),
        ];
      }),
    ),
  ];
}

/** The memory of weights: columns as vectors of four rows. */
export function weightMemory({ bm, bn }: AttentionTile, padding: 0 | 1): SharedArray {
  return { name: WEIGHTS, dtype: 'float32', width: 4, rows: bn, length: bm / 4 + padding };
}

/** A column of four rows of a thread's weights: from its row `4 r` on, at its column `c` of vector `g`. */
interface WeightColumn {
  readonly r: number;
  readonly g: number;
  readonly c: number;
  readonly of: (weights: TileRegisters) => RegisterValue;
}

function eachColumn(
  { tm, tn }: AttentionTile,
  visit: (column: WeightColumn) => ScheduledStmt,
): ScheduledBody {
  const stmts: ScheduledStmt[] = [];
  for (let r = 0; r < tm / 4; r++)
    for (let g = 0; g < tn / 4; g++)
      for (let c = 0; c < 4; c++) {
        const of = (weights: TileRegisters): RegisterValue => ({
          kind: 'pack',
          of: [0, 1, 2, 3].map((i) => register(weights[4 * r + i]![g]!, c)),
        });
        stmts.push(visit({ r, g, c, of }));
      }
  return stmts;
}

/** Lays weights there; a barrier must follow. */
export function publishWeights(tile: AttentionTile, weights: TileRegisters): ScheduledBody {
  return eachColumn(tile, ({ r, g, c, of }) => {
    const column = sum(alongOf(tile, g), whole(c));
    const row = sum(variable('row'), whole(rowShift(tile, r)));
    return write(WEIGHTS, column, row, of(weights));
  });
}

/** Stores weights, along the rows: that is how whoever reads them by columns wants them. */
export function storeWeights(
  tile: AttentionTile,
  place: IndexExpr,
  weights: readonly TileRegisters[],
): ScheduledBody {
  return eachColumn(tile, ({ r, g, c, of }) => ({
    kind: 'visit',
    routine: 'store_weights',
    at: [place, sum(variable('first_j'), alongOf(tile, g), whole(c)), downOf(tile, 4 * r)],
    of: weights.map(of),
  }));
}

/** Four rows' weights of a column. */
export function weightsAt(column: IndexExpr, vector: IndexExpr): RegisterValue {
  return read(WEIGHTS, column, vector);
}
