/**
 * @file How the threads of a group share the loading of a slab: in units of four values, or in blocks of 4 × 4.
 *
 * Vectors along k that make a block are transposed in registers and written as vectors along x, which are also faster to
 * read than single values.
 */
import type { IndexExpr } from '../../ir/index-expr.js';
import { minus, modulo, over, sum, times, variable, whole } from '../kernel/places.js';
import type { LoadOrder } from './operand-order.js';

/** Threads that load a slab in blocks, all of them as many. */
export interface BlockLoaders {
  /** Those before it load the slab before. */
  readonly first: number;
  readonly count: number;
  /** Prefix of their registers; threads that load other slabs may have the same. */
  readonly registers: string;
}

/** Who loads the slabs of two operands in blocks, if both lie along k and all threads have as many. */
export function blockLoaders(
  slabs: readonly { readonly order: LoadOrder; readonly extent: number }[],
  bk: number,
  threads: number,
): readonly (BlockLoaders | undefined)[] {
  if (slabs.some(({ order }) => order !== 'vectors along k')) return [];
  const counts = slabs.map(({ extent }) => (extent * bk) / 16);
  if (counts.every((count) => 2 * count === threads))
    return counts.map((count, i) => ({ first: i * count, count, registers: 'next' }));
  return counts.map((count, i) =>
    count % threads === 0 ? { first: 0, count: threads, registers: `next_${'ab'[i]}` } : undefined,
  );
}

/** Vectors of padding that keep threads apart in memory which write along k, by rows of a slab; odd as a single one is. */
const SHIFTING: Readonly<Record<number, number>> = { 16: 3, 32: 5, 64: 9 };

/** Vectors of padding after each row of a slab: for shifts where there is room and use for them, or one, or none. */
export function slabPadding(
  bk: number,
  bytes: (padding: number) => number,
  { maxWorkgroupBytes }: { readonly maxWorkgroupBytes: number },
): number {
  return [SHIFTING[bk] ?? 1, 1].find((padding) => bytes(padding) <= maxWorkgroupBytes) ?? 0;
}

/** A unit: k and x of the first, and number of its vector (or value, along k) in a row along x. */
export interface SlabUnit {
  /** Threads below this number have it; all do where it is absent. */
  readonly below?: number;
  /** It is of the threads that have no unit of the slab before. */
  readonly isOfOthers: boolean;
  readonly k: IndexExpr;
  readonly x: IndexExpr;
  readonly at: IndexExpr;
}

/** What is shared, and among how many. */
export interface SlabSharing {
  readonly extent: number;
  readonly bk: number;
  readonly threads: number;
  /** Whether units are loaded in a loop. */
  readonly isLooped: boolean;
  readonly loaders?: BlockLoaders | undefined;
}

/** The units that each thread loads; where that is a loop, the one of its step. */
export function slabUnits(
  order: LoadOrder,
  { extent, bk, threads, isLooped, loaders }: SlabSharing,
): SlabUnit[] {
  const count = (bk * extent) / (loaders === undefined ? 4 : 16);
  const first = loaders?.first ?? 0;
  const lane = variable(isLooped ? 'unit' : 'lane');
  const rounds = isLooped ? 1 : Math.ceil(count / threads);
  return Array.from({ length: rounds }, (_, round): SlabUnit => {
    const isOfOthers = first > 0;
    const index = isOfOthers ? minus(lane, whole(first)) : sum(lane, whole(round * threads));
    const isCut = !isOfOthers && (round + 1) * threads > count;
    const have = { isOfOthers, ...(isCut && { below: count - round * threads }) };
    if (order === 'vectors along k') {
      const at = over(index, bk / 4);
      const x = loaders === undefined ? at : times(at, 4);
      return { ...have, k: times(modulo(index, bk / 4), 4), x, at };
    }
    const along = order === 'along x' ? extent / 4 : bk;
    const [fast, slow] = [modulo(index, along), over(index, along)];
    const [k, at] = order === 'along x' ? [slow, fast] : [fast, slow];
    return { ...have, k, x: times(at, 4), at };
  });
}
