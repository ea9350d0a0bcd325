/**
 * @file `pnpm bench distributed`: all-reduces of 2 and 4 processes, as JSON.
 *
 * Then a training step on two ranks beside one process with two threads. Beside the all-reduces: the same in C on the
 * same MPI, and plain copies. `alphaUs` and `gbPerSecond` of `model` are the constants of docs/distributed.md.
 */
import { availableParallelism, cpus } from 'node:os';
import { compileForMpi } from './c-program.js';
import { MPIRUN, mpiVersion, startRanks, startSelf } from './launch-ranks.js';
import { type AllReduceTime, DISTRIBUTED_RANK, type RankReport, sizesFor } from './rank.js';
import { TRAINING_RANK, type TrainingTimes } from './training.js';
import { median } from '../harness/statistics.js';

/** The command. */
export const DISTRIBUTED = 'distributed';

interface CTime {
  readonly bytes: number;
  readonly us: number;
  readonly gbPerSecond: number;
}

/** What a number of ranks did. */
export interface DistributedEntry extends RankReport {
  /** Null where no C program could be built or run. */
  readonly inC: readonly CTime[] | null;
  readonly model: { readonly alphaUs: number; readonly gbPerSecond: number };
}

/** See the file header. */
export interface DistributedReport {
  readonly cores: number;
  readonly cpu: string;
  readonly node: string;
  readonly mpi: string;
  readonly entries: readonly DistributedEntry[];
  readonly training: TrainingReport;
}

/** A training step on two ranks of one thread, and on one of two threads, with the same batch; runs that take turns. */
export interface TrainingReport {
  readonly batch: number;
  /** Last runs. */
  readonly twoRanks: TrainingTimes;
  readonly oneProcess: TrainingTimes;
  /** One process's time over two ranks', the median of the runs: 1 is as fast. */
  readonly efficiency: number;
  /** Median of the runs. */
  readonly hidden: number;
}

/** The time of the smallest float32 message, and the rate of the largest. */
function modelOf(times: readonly AllReduceTime[]): DistributedEntry['model'] {
  const floats = times.filter(({ dtype }) => dtype === 'float32');
  return { alphaUs: floats[0]!.us, gbPerSecond: floats.at(-1)!.gbPerSecond };
}

function trainingReport(quick: boolean): TrainingReport {
  const batch = 256;
  const run = (ranks: number, threads: number): TrainingTimes =>
    startSelf(ranks, [TRAINING_RANK, ...[threads, batch, quick ? 3 : 15].map(String)]);
  const rounds = Array.from({ length: quick ? 1 : 5 }, () => ({
    twoRanks: run(2, 1),
    oneProcess: run(1, 2),
  }));
  const last = rounds.at(-1)!;
  return {
    batch,
    ...last,
    efficiency: median(rounds.map((round) => round.oneProcess.stepMs / round.twoRanks.stepMs)),
    hidden: median(rounds.map((round) => round.twoRanks.hidden)),
  };
}

/** @throws distributed-unavailable without `mpirun` */
export function distributedReport(argv: readonly string[]): DistributedReport {
  const quick = argv.includes('--quick');
  const version = mpiVersion();
  const program = compileForMpi(MPIRUN);
  const entries = [2, 4].map((ranks): DistributedEntry => {
    const report = startSelf<RankReport>(ranks, [DISTRIBUTED_RANK, ...(quick ? ['--quick'] : [])]);
    const lines =
      program === null
        ? null
        : startRanks(ranks, [program, ...[ranks, ...sizesFor(quick)].map(String)]);
    const inC =
      lines
        ?.trim()
        .split('\n')
        .map((line): CTime => {
          const [bytes, us] = line.split(' ').map(Number) as [number, number];
          return { bytes, us, gbPerSecond: bytes / us / 1000 };
        }) ?? null;
    return { ...report, inC, model: modelOf(report.allReduce) };
  });
  return {
    cores: availableParallelism(),
    cpu: cpus()[0]?.model ?? '',
    node: process.version,
    mpi: version.trim().split('\n').slice(0, 2).join(' ').replaceAll(/\s+/g, ' '),
    entries,
    training: trainingReport(quick),
  };
}
