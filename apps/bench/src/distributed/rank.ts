/**
 * @file One rank of `pnpm bench distributed`: times all-reduces with the others and prints what rank 0 saw.
 */
import {
  allReduce,
  barrier,
  destroyProcessGroup,
  getRank,
  getWorldSize,
  groupNamed,
  initProcessGroup,
} from '@tessera/distributed';
import { type DType, empty, itemSize, ones, zeros } from '@tessera/tensor';
import { median } from '../harness/statistics.js';

/** First argument of a process that is a rank. */
export const DISTRIBUTED_RANK = 'distributed-rank';

/** An all-reduce of one size. */
export interface AllReduceTime {
  readonly dtype: DType;
  readonly bytes: number;
  /** Median time of a call, in µs. */
  readonly us: number;
  /** Bytes of the buffer over the time. */
  readonly gbPerSecond: number;
}

/** What rank 0 saw. */
export interface RankReport {
  readonly ranks: number;
  readonly allReduce: readonly AllReduceTime[];
  /** Median time of a barrier, in µs. */
  readonly barrierUs: number;
  /** Copies of the same sizes within the memory of tensors, by this rank alone. */
  readonly copy: readonly { readonly bytes: number; readonly gbPerSecond: number }[];
}

/** The sizes that are timed, in bytes: 1 kB to 64 MB. */
export function sizesFor(quick: boolean): number[] {
  return quick ? [1 << 10, 1 << 20] : Array.from({ length: 9 }, (_, i) => 1024 * 4 ** i);
}

/** Few of the large, many of the small. */
function repeats(bytes: number): number {
  return Math.max(7, Math.min(200, Math.round(2 ** 24 / bytes)));
}

function timed(count: number, run: () => void): number {
  run();
  const times = Array.from({ length: count }, () => {
    const start = performance.now();
    run();
    return (performance.now() - start) * 1000;
  });
  return median(times);
}

/** Runs as a rank; rank 0 prints a `RankReport`. */
export async function distributedRank(quick: boolean): Promise<number> {
  await initProcessGroup();
  const results: AllReduceTime[] = [];
  for (const dtype of ['float32', 'bfloat16'] as const) {
    for (const bytes of sizesFor(quick)) {
      // Zeros, which stay in range however often they are added.
      const tensor = zeros([bytes / itemSize(dtype)], { dtype });
      await barrier();
      const us = timed(repeats(bytes), () => allReduce(tensor, { async: true }).waitSync());
      tensor.dispose();
      results.push({ dtype, bytes, us, gbPerSecond: bytes / us / 1000 });
    }
  }
  const barrierUs = timed(200, () => groupNamed().communicator.barrier().waitSync());
  const copy = sizesFor(quick).map((bytes) => {
    const from = ones([bytes / 4]);
    const to = empty([bytes / 4]);
    const us = timed(repeats(bytes), () => void to.copy_(from));
    from.dispose();
    to.dispose();
    return { bytes, gbPerSecond: bytes / us / 1000 };
  });
  const report: RankReport = { ranks: getWorldSize(), allReduce: results, barrierUs, copy };
  if (getRank() === 0) console.log(JSON.stringify(report));
  await destroyProcessGroup();
  return 0;
}
