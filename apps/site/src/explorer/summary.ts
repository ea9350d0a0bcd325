/**
 * @file What became of a program, in one line.
 */
import type { Exploration } from '@tessera/compile/exploration';

/** See the file header. */
export function summaryOf({ captured, compiled, functions, error }: Exploration): string {
  const kernels = compiled.reduce((sum, { launches }) => sum + launches.length, 0);
  const breaks = functions.reduce((sum, fn) => sum + fn.breaks.length, 0);
  const counts = `${captured.length} captured, ${breaks} break(s), ${compiled.length} compiled, ${kernels} kernel(s).`;
  return error === null ? counts : `${error} (${counts})`;
}
