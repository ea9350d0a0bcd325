/**
 * @file What became of a program, in one line.
 */
import type { Exploration } from '@tessera/compile/exploration';

/** See the file header. */
export function summaryOf(exploration: Exploration): string {
  const { captured, compiled, functions, timeline, output, error } = exploration;
  if (isTrace(exploration)) return [`${timeline.length} event(s).`, ...output].join(' ');
  const kernels = compiled.reduce((sum, { launches }) => sum + launches.length, 0);
  const breaks = functions.reduce((sum, fn) => sum + fn.breaks.length, 0);
  const counts = `${captured.length} captured, ${breaks} break(s), ${compiled.length} compiled, ${kernels} kernel(s).`;
  return error === null ? counts : `${error} (${counts})`;
}

/** Whether it is what ran, of a program that was not compiled here. */
export function isTrace({ captured, compiled, timeline }: Exploration): boolean {
  return captured.length === 0 && compiled.length === 0 && timeline.length > 0;
}
