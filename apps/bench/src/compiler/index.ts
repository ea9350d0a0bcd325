/**
 * @file Benches of the compiler itself: `pnpm bench guards replay partition memory freezing` prints them as JSON.
 */
import { type TrainingMemory, trainingMemory } from '../memory/training-memory.js';
import { guardCosts } from '../tracer/guards.js';
import type { Cost } from '../tracer/measure.js';
import { type EarlyCalls, earlyCalls, measureApart } from '../tracer/early-calls.js';
import { replayCosts } from '../tracer/replay.js';
import { type FreezingTime, freezingTimes } from './freezing.js';
import { type PartitionRow, partitionRows } from './partition.js';

/** What was asked for. */
export interface CompilerReport {
  /** What the tracer costs per call, op and region. */
  readonly costs?: readonly Cost[];
  /** Calls 2 to 20 of whole models. */
  readonly earlyCalls?: readonly EarlyCalls[];
  /** Bytes saved for backward, beside PyTorch's. */
  readonly partition?: readonly PartitionRow[];
  /** Inference with parameters as inputs and as constants. */
  readonly freezing?: readonly FreezingTime[];
  /** Bytes that training a small GPT-2 takes. */
  readonly memory?: TrainingMemory;
}

/** How one model's early calls are measured. */
type MeasureEarly = (model: string) => EarlyCalls;

const BENCHES: Readonly<
  Record<string, (report: CompilerReport, measureEarly: MeasureEarly) => CompilerReport>
> = {
  guards: (report) => ({ ...report, costs: [...(report.costs ?? []), ...guardCosts()] }),
  replay: (report, measureEarly) => ({
    ...report,
    costs: [...(report.costs ?? []), ...replayCosts()],
    earlyCalls: earlyCalls(measureEarly),
  }),
  partition: (report) => ({ ...report, partition: partitionRows() }),
  memory: (report) => ({ ...report, memory: trainingMemory() }),
  freezing: (report) => ({ ...report, freezing: freezingTimes() }),
};

/** Names of the benches. */
export const COMPILER_BENCHES: readonly string[] = Object.keys(BENCHES);

/** Whether the arguments ask for these benches and nothing else. */
export function asksForCompiler(argv: readonly string[]): boolean {
  return argv.length > 0 && argv.every((name) => COMPILER_BENCHES.includes(name));
}

/** Measures what was asked for; early calls in a fresh process per model unless told otherwise. */
export function compilerReport(
  names: readonly string[],
  measureEarly: MeasureEarly = measureApart,
): CompilerReport {
  return names.reduce<CompilerReport>((report, name) => BENCHES[name]!(report, measureEarly), {});
}
