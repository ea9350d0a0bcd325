/**
 * @file How the threads of a workgroup share the loading of a slab: in units of four values, or in blocks of 4 × 4.
 *
 * Vectors along k that make a block are transposed in registers and written as vectors along x, which are also faster to
 * read than single values.
 */
import type { LoadOrder } from './matmul-operand.js';
import type { WgslTarget } from './target.js';

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
  { maxWorkgroupBytes }: WgslTarget,
): number {
  return [SHIFTING[bk] ?? 1, 1].find((padding) => bytes(padding) <= maxWorkgroupBytes) ?? 0;
}

/** A unit: k and x of the first, and number of its vector (or value, along k) in a row along x. */
export interface SlabUnit {
  /** Text of a test, where the last units are too few for all threads. */
  readonly test: string;
  readonly k: string;
  readonly x: string;
  readonly at: string;
}

/** The units that each thread loads. */
export function slabUnits(
  order: LoadOrder,
  {
    extent,
    bk,
    threads,
    loaders,
  }: {
    readonly extent: number;
    readonly bk: number;
    readonly threads: number;
    readonly loaders?: BlockLoaders | undefined;
  },
): SlabUnit[] {
  const count = (bk * extent) / (loaders === undefined ? 4 : 16);
  const first = loaders?.first ?? 0;
  return Array.from({ length: Math.ceil(count / threads) }, (_, round) => {
    const index =
      first > 0 ? `(lane - ${first}u)` : round === 0 ? 'lane' : `(lane + ${round * threads}u)`;
    const test =
      first > 0 ? 'else' : (round + 1) * threads > count ? `if (${index} < ${count}u)` : '';
    const along = order === 'along x' ? extent / 4 : bk;
    if (order === 'vectors along k') {
      const at = `${index} / ${along / 4}u`;
      const x = loaders === undefined ? at : `${at} * 4u`;
      return { test, k: `(${index} % ${along / 4}u) * 4u`, x, at };
    }
    const [fast, slow] = [`${index} % ${along}u`, `${index} / ${along}u`];
    const [k, at] = order === 'along x' ? [slow, fast] : [fast, slow];
    return { test, k, x: `(${at}) * 4u`, at };
  });
}
