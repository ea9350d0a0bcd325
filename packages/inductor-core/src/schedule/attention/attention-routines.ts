/**
 * @file The routines of attention besides those of products: `weigh<q>(batch, down, along)`, which makes four weights along
 * the columns of their scores, `store_row(batch, down)`, which stores what is known of a whole row, and
 * `store_weights(batch, down, along)`, which stores weights of a column, of four rows.
 */
import { type Size, isMultiple } from '@tessera/shared';
import type { AttentionKernel } from '../../ir/kernel.js';
import { extent } from '../../ir/loop-vars.js';
import { placesOf, variable } from '../kernel/places.js';
import type { Routine } from '../kernel/registers.js';
import type { ScheduledStmt } from '../kernel/scheduled-kernel.js';
import { below, storeRoutine, vector, vectorPlace } from '../products/product-routines.js';

/**
 * Makes weights. Outside of the columns they are zero, or logits of it.
 *
 * @param bn columns that are visited together: with a multiple of them, none is outside
 * @param isQuick weights of gradients are e to the power of what is 0 at most, relative to their row's sum
 */
export function weighRoutine(
  { batch, m, j, scores, weights, softmax, accDtype }: AttentionKernel<Size>,
  q: number,
  bn: number,
  isQuick: boolean,
): Routine {
  const along = j.slice(-1);
  const place = vectorPlace(along, 'along');
  const lets = [
    ...placesOf([...batch, ...j.slice(0, -1)], variable('batch')),
    ...placesOf(m, variable('down')),
    ...place.lets,
  ];
  const length = extent(along);
  const give: ScheduledStmt = {
    kind: 'give',
    value: weights[q]!,
    ...(!isMultiple(length, bn) && {
      where: below(variable(place.lane), length),
      ...(softmax && { otherwise: -Infinity }),
    }),
  };
  return {
    name: `weigh${q}`,
    parameters: ['batch', 'down', 'along'],
    results: scores.map((_, p) => `score${p}`),
    gives: accDtype,
    ...(isQuick && !softmax && { isQuick }),
    body: vector(place, lets, [give]),
  };
}

/** Stores the weights of four rows, `along`, at a column, `down`, of tiles of `bm` rows and `bn` columns. */
export function weightRoutine(
  { batch, m, j, weights, weightStores }: AttentionKernel<Size>,
  bm: number,
  bn: number,
): Routine {
  const stored = storeRoutine({
    epilogue: weightStores,
    batch: [...batch, ...j.slice(0, -1)],
    m: j.slice(-1),
    n: m,
    bm: bn,
    bn: bm,
    products: weights.map((_, q) => `weight${q}`),
  });
  return { ...stored, name: 'store_weights' };
}

/** Stores what is known of a row that is below the last; tiles have `bm`. */
export function rowRoutine({ batch, m, rowStores }: AttentionKernel<Size>, bm: number): Routine {
  const height = extent(m);
  const inside: ScheduledStmt = { kind: 'exit', unless: [below(variable('down'), height)] };
  return {
    name: 'store_row',
    parameters: ['batch', 'down'],
    results: ['sum'],
    isSingle: true,
    body: [
      ...(isMultiple(height, bm) ? [] : [inside]),
      ...placesOf(batch, variable('batch')),
      ...placesOf(m, variable('down')),
      ...rowStores.filter((stmt) => stmt.kind === 'store'),
    ],
  };
}
