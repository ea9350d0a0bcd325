/**
 * @file What came of running a workload with an engine.
 */
import type { Summary } from './statistics.js';
import type { Work } from './workload.js';

/** Times are in µs unless they say ms. */
export type Outcome =
  | {
      readonly status: 'ok';
      readonly engine: string;
      readonly time: Summary;
      /** Runs that make a sample. */
      readonly runsPerSample: number;
      /** From compiling to the first result, in this process; null where a workload measures just that. */
      readonly firstCallMs: number | null;
      /** How many times slower than Tessera, round by round; null for Tessera itself or without it. */
      readonly ratio: Summary | null;
    }
  | {
      readonly status: 'recorded';
      readonly engine: string;
      readonly medianUs: number;
      readonly firstCallMs: number | null;
      readonly hardware: string;
      /** How many times slower than Tessera here. */
      readonly ratio: number | null;
    }
  | {
      readonly status: 'unsupported' | 'wrong' | 'failed';
      readonly engine: string;
      readonly reason: string;
    };

/** Outcomes of one workload. */
export interface WorkloadOutcome {
  readonly name: string;
  readonly about: string;
  readonly shapes: string;
  readonly work: Work;
  readonly outcomes: readonly Outcome[];
}

/** Whether something is not as it should be: a wrong result, or an engine that threw. */
export function isFailure({ status }: Outcome): boolean {
  return status === 'wrong' || status === 'failed';
}
