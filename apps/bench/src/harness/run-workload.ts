/**
 * @file Runs one workload with all engines: first call and check, warm up, alternate, check again.
 */
import { type Tolerance, mismatch } from './check.js';
import type { LoadedEngine, Prepared } from './engine.js';
import type { Outcome, WorkloadOutcome } from './outcome.js';
import { type Effort, alternate, warmUp } from './sampling.js';
import { checkResult, messageOf, startProgram } from './start-program.js';
import { median, roundRatios, summarize } from './statistics.js';
import type { Case, Device, Workload } from './workload.js';

/** A loaded engine and its name; the first in a list is what the others are compared with. */
export interface NamedEngine {
  readonly name: string;
  readonly engine: LoadedEngine;
}

/** What a workload is run for. */
export interface RunSetting {
  readonly device: Device;
  readonly quick: boolean;
  readonly effort: Effort;
}

/** An engine that takes part in a workload. */
interface Entrant {
  readonly name: string;
  readonly program: Prepared;
  readonly firstCallMs: number;
  /** Runs that make a sample. */
  count: number;
  samples: readonly number[];
  /** Set when it must not count. */
  failure: Outcome | null;
}

/** Runs a workload of kind `steady` with all engines. */
export async function runWorkload(
  workload: Workload,
  engines: readonly NamedEngine[],
  setting: RunSetting,
  progress: (text: string) => void,
): Promise<WorkloadOutcome> {
  const instance = workload.make({ ...setting, variant: 0 });
  const say = (text: string): void => progress(`${workload.name}: ${text}`);
  const entrants: Entrant[] = [];
  const absent = new Map<string, readonly Outcome[]>();
  for (const { name, engine } of engines) {
    say(`${name}, first call`);
    try {
      const started = await startProgram(engine, workload, instance, setting.quick);
      if ('unsupported' in started) {
        absent.set(name, [{ status: 'unsupported', engine: name, reason: started.unsupported }]);
      } else if ('recorded' in started) {
        absent.set(name, recordedOutcomes(started.recorded, engine.hardware ?? ''));
      } else {
        entrants.push({ name, ...started, count: 1, samples: [], failure: null });
      }
    } catch (error) {
      absent.set(name, [{ status: 'failed', engine: name, reason: messageOf(error) }]);
    }
  }
  await checkAll(entrants, instance, setting.device);
  await measure(entrants, setting.effort, say);
  // A step has gone on training, each engine for its own number of steps.
  if (instance.checkedCalls === 1) await checkAll(entrants, instance, setting.device);
  for (const { program } of entrants) await program.dispose();

  const baseline = entrants.find(
    ({ name, failure }) => name === engines[0]!.name && failure === null,
  )?.samples;
  const { name, about } = workload;
  const outcomes = engines.flatMap((engine) => {
    const entrant = entrants.find((candidate) => candidate.name === engine.name);
    return entrant === undefined ? absent.get(engine.name)! : [outcomeOf(entrant, baseline)];
  });
  return {
    name,
    about,
    shapes: instance.shapes,
    work: instance.work,
    outcomes: outcomes.map((outcome) => withRecordedRatio(outcome, baseline)),
  };
}

/** Compares results with the reference and, where they are read whole, with each other. */
async function checkAll(
  entrants: readonly Entrant[],
  instance: Case,
  device: Device,
): Promise<void> {
  let agreed: { name: string; whole: Float32Array } | null = null;
  for (const entrant of active(entrants)) {
    const { name, program } = entrant;
    await guarded(entrant, async () => {
      const { wrong, whole } = await checkResult(program, instance, device);
      const reason =
        wrong ??
        (whole === null || agreed === null
          ? null
          : mismatch(whole, agreed.whole, doubled(instance.tolerance), agreed.name));
      if (reason !== null) entrant.failure = { status: 'wrong', engine: name, reason };
      else if (whole !== null) agreed ??= { name, whole };
    });
  }
}

/** Two results may be off in opposite directions. */
function doubled({ rtol, atol }: Tolerance): Tolerance {
  return { rtol: 2 * rtol, atol: 2 * atol };
}

async function measure(
  entrants: readonly Entrant[],
  effort: Effort,
  say: (text: string) => void,
): Promise<void> {
  for (const entrant of active(entrants)) {
    say(`${entrant.name}, warm-up`);
    await guarded(entrant, async () => {
      entrant.count = await warmUp(entrant.program, effort);
    });
  }
  say(`${effort.rounds} rounds`);
  const measured = active(entrants);
  const samples = await alternate(measured, effort, (index, error) =>
    fail(measured[index]!, error),
  );
  measured.forEach((entrant, i) => (entrant.samples = samples[i]!));
}

function active(entrants: readonly Entrant[]): Entrant[] {
  return entrants.filter(({ failure }) => failure === null);
}

/** Runs something with an entrant, who is out if it throws. */
async function guarded(entrant: Entrant, action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    fail(entrant, error);
  }
}

function fail(entrant: Entrant, error: unknown): void {
  entrant.failure = { status: 'failed', engine: entrant.name, reason: messageOf(error) };
}

function outcomeOf(entrant: Entrant, baseline: readonly number[] | undefined): Outcome {
  const { name, samples, count, firstCallMs, failure } = entrant;
  if (failure !== null) return failure;
  const alone = baseline === undefined || baseline === samples;
  return {
    status: 'ok',
    engine: name,
    time: summarize(samples),
    runsPerSample: count,
    firstCallMs,
    ratio: alone ? null : summarize(roundRatios(samples, baseline)),
  };
}

function recordedOutcomes(
  rows: readonly { label: string; medianUs: number; firstCallMs: number | null }[],
  hardware: string,
): Outcome[] {
  return rows.map(({ label, ...figures }) => ({
    status: 'recorded',
    engine: label,
    ...figures,
    hardware,
    ratio: null,
  }));
}

function withRecordedRatio(outcome: Outcome, baseline: readonly number[] | undefined): Outcome {
  if (outcome.status !== 'recorded' || baseline === undefined) return outcome;
  return { ...outcome, ratio: outcome.medianUs / median(baseline) };
}
