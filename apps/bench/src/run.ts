/**
 * @file Runs what the options ask for: loads the engines, runs every workload, makes the report.
 */
import { type CompileOutcome, runCompilations } from './compile-time/measure.js';
import { BASELINE, findEngine } from './engines/index.js';
import type { EngineOptions } from './harness/engine.js';
import { describeEnvironment } from './harness/environment.js';
import { runFirstCalls } from './harness/first-call.js';
import type { WorkloadOutcome } from './harness/outcome.js';
import { type NamedEngine, runWorkload } from './harness/run-workload.js';
import { effortFor } from './harness/sampling.js';
import { messageOf } from './harness/start-program.js';
import type { BenchOptions } from './options.js';
import type { EngineReport, Report } from './report/report.js';

/** Fresh processes for each engine and first-call workload. */
const FIRST_CALL_ROUNDS = 5;
const QUICK_FIRST_CALL_ROUNDS = 1;

/** Loads engines by name; those that cannot be loaded are reported, not fatal, but for the first. */
async function loadEngines(
  names: readonly string[],
  options: EngineOptions,
): Promise<{ loaded: NamedEngine[]; reports: EngineReport[] }> {
  const loaded: NamedEngine[] = [];
  const reports: EngineReport[] = [];
  for (const name of names) {
    const { about, load } = findEngine(name)!;
    const report = { name, about, versions: {}, threads: 0, hardware: null, unavailable: null };
    try {
      const engine = await load(options);
      if ('unsupported' in engine) {
        reports.push({ ...report, unavailable: engine.unsupported });
        continue;
      }
      loaded.push({ name, engine });
      const { versions, threads, hardware = null } = engine;
      reports.push({ ...report, versions, threads, hardware });
    } catch (error) {
      if (name === BASELINE.name) throw error;
      reports.push({ ...report, unavailable: messageOf(error) });
    }
  }
  return { loaded, reports };
}

/** Runs everything. `progress` hears what is going on. */
export async function runBenchmark(
  options: BenchOptions,
  progress: (text: string) => void,
): Promise<Report> {
  const { device, quick, rounds, threads, backend, dawn, dawnFlags } = options;
  const engineOptions: EngineOptions = { device, threads, backend, dawn, dawnFlags };
  progress('loading engines');
  const names = [BASELINE.name, ...options.peers];
  const { loaded, reports } = await loadEngines(names, engineOptions);
  const effort = effortFor(quick, rounds);
  const workloads: WorkloadOutcome[] = [];
  for (const workload of options.workloads) {
    if (workload.kind === 'first-call') {
      const processes = rounds ?? (quick ? QUICK_FIRST_CALL_ROUNDS : FIRST_CALL_ROUNDS);
      const asked = { quick, rounds: processes };
      workloads.push(...(await runFirstCalls(workload, loaded, engineOptions, asked, progress)));
    } else {
      workloads.push(await runWorkload(workload, loaded, { device, quick, effort }, progress));
    }
  }
  for (const { engine } of loaded) await engine.close?.();
  const compilations: CompileOutcome[] = [];
  for (const subject of options.compilations) {
    const processes = rounds ?? (quick ? QUICK_FIRST_CALL_ROUNDS : FIRST_CALL_ROUNDS);
    compilations.push(await runCompilations(subject, processes, progress));
  }
  return {
    benchmark: 'tessera',
    date: new Date().toISOString(),
    device,
    threads,
    backend,
    quick,
    rounds: effort.rounds,
    environment: describeEnvironment(),
    engines: reports,
    workloads,
    compilations,
  };
}
