/**
 * @file `TESSERA_LOGS=schedule`: after the plan, which the compiler logs, the schedules of its kernels. Node has this, and
 * pages that import `@tessera/compile/exploration`.
 */
import { type KernelSource, printSchedule } from '@tessera/inductor-core';
import { log } from '@tessera/shared';
import { observeCompilations } from './observe-compilations.js';

/** What was logged: code for all sizes is shown once. */
const seen = new WeakSet<readonly KernelSource[]>();

function logSchedules(sources: readonly KernelSource[]): void {
  if (seen.has(sources) || sources.every(({ schedule }) => schedule === undefined)) return;
  log('schedule', () => {
    seen.add(sources);
    const schedules = sources.flatMap(({ schedule }) => schedule?.() ?? []);
    return schedules.map(printSchedule).join('\n');
  });
}

observeCompilations((_graph, { executable }) => logSchedules(executable.sources));
