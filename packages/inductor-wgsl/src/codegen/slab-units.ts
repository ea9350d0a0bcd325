/**
 * @file How the threads of a workgroup share the loading of a slab: in units of four values.
 */
import type { LoadOrder } from './matmul-operand.js';

/** A unit of four values: k and x of the first, and number of its vector (or value, along k) in a row along x. */
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
  }: { readonly extent: number; readonly bk: number; readonly threads: number },
): SlabUnit[] {
  const count = (bk * extent) / 4;
  return Array.from({ length: Math.ceil(count / threads) }, (_, round) => {
    const index = round === 0 ? 'lane' : `(lane + ${round * threads}u)`;
    const test = (round + 1) * threads > count ? `if (${index} < ${count}u)` : '';
    const along = order === 'along x' ? extent / 4 : bk;
    if (order === 'vectors along k') {
      const x = `${index} / ${along / 4}u`;
      return { test, k: `(${index} % ${along / 4}u) * 4u`, x, at: x };
    }
    const [fast, slow] = [`${index} % ${along}u`, `${index} / ${along}u`];
    const [k, at] = order === 'along x' ? [slow, fast] : [fast, slow];
    return { test, k, x: `(${at}) * 4u`, at };
  });
}
