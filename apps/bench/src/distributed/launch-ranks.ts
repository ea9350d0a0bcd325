/**
 * @file Starting jobs of this program, or of another one, under `mpirun`.
 */
import { spawnSync } from 'node:child_process';
import { TesseraError } from '@tessera/shared';

/** The launcher. */
export const MPIRUN = 'mpirun';

/** What `mpirun --version` says. @throws distributed-unavailable without it */
export function mpiVersion(): string {
  const { status, stdout } = spawnSync(MPIRUN, ['--version'], { encoding: 'utf8' });
  if (status === 0) return stdout;
  throw new TesseraError('distributed-unavailable', `There is no ${MPIRUN}.`, {
    hints: ['Install MPI (Debian: apt-get install mpich).'],
  });
}

/** What the first rank of a job of `command` prints; null if it fails. */
export function startRanks(ranks: number, command: readonly string[]): string | null {
  const own = /Open ?(?:MPI|RTE)/i.test(mpiVersion())
    ? ['--oversubscribe', '--allow-run-as-root']
    : [];
  const { status, stdout } = spawnSync(MPIRUN, [...own, '-n', String(ranks), ...command], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return status === 0 ? stdout : null;
}

/** The JSON that a job of this program prints, started with `args`. */
export function startSelf<T>(ranks: number, args: readonly string[]): T {
  const text = startRanks(ranks, [process.execPath, process.argv[1]!, ...args]);
  if (text === null) throw new Error(`${MPIRUN} -n ${ranks} failed`);
  return JSON.parse(text) as T;
}
