/**
 * @file What `explain()` says of a compiled step, without the graph itself.
 */
import type { Explanation } from '@tessera/compile';

/** Graphs, guards by kind, kernels and time per stage, as text. */
export function summary(told: Explanation): string {
  const ms = (value: number): string => `${value.toFixed(0).padStart(6)} ms`;
  const recompiles = told.traceCount - 1;
  return [
    `${told.functionName}: ${told.graphCount} graph, ${told.graphBreakCount} breaks, ${recompiles} recompiles`,
    `${told.opCount} operators in ${told.kernelCount} kernels`,
    `guards: ${Object.entries(told.guardCounts)
      .map(([kind, n]) => `${n} ${kind}`)
      .join(', ')}`,
    ...Object.entries(told.stages).map(([name, value]) => `${ms(value)}  ${name}`),
    `${ms(told.captureMs + told.compileMs)}  in all`,
  ].join('\n');
}
