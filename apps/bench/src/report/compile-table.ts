/**
 * @file Compile times as text: one line for each model, its stages below.
 */
import type { CompileOutcome } from '../compile-time/measure.js';

/** Stages that take less of a first call than this are added up. */
const SMALL = 0.02;

function stageLines({ stages, wallMs }: CompileOutcome): string[] {
  const shown = Object.entries(stages).filter(([, ms]) => ms >= SMALL * wallMs.median);
  const known = shown.reduce((total, [, ms]) => total + ms, 0);
  const rows: (readonly [string, number])[] = [...shown, ['rest', wallMs.median - known]];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(
    ([name, ms]) =>
      `    ${name.padEnd(width)}  ${ms.toFixed(0).padStart(7)} ms  ${((100 * ms) / wallMs.median).toFixed(0).padStart(3)} %`,
  );
}

function timesOf({ wallMs, cpuMs, mainThreadMs }: CompileOutcome): string {
  const main =
    mainThreadMs === null ? '' : `, ${mainThreadMs.median.toFixed(0)} of them the main thread's`;
  return `${wallMs.median.toFixed(0)} ms (${cpuMs.median.toFixed(0)} ms of processor time${main})`;
}

/** A block for each model. */
export function formatCompilations(outcomes: readonly CompileOutcome[]): string {
  return outcomes
    .flatMap((outcome) => [
      `${outcome.name}  ${outcome.shapes}  ${outcome.about}`,
      `  ${timesOf(outcome)}; ${outcome.graphs} graphs, ${outcome.nodes} nodes, ${outcome.kernels} kernels, ${outcome.launches} launches`,
      ...stageLines(outcome),
      '',
    ])
    .join('\n');
}
