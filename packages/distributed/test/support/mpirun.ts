/**
 * Runs programs of `test/programs` under `mpirun`, bundled from the sources.
 *
 * `TESSERA_TEST_MPI=openmpi` tests the other implementation where Debian's alternatives have both.
 */
import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const FLAVOUR = process.env.TESSERA_TEST_MPI;
const MPIRUN = FLAVOUR === undefined ? 'mpirun' : `mpirun.${FLAVOUR}`;

const version = spawnSync(MPIRUN, ['--version'], { encoding: 'utf8' });

/** Whether programs can be started. Without MPI tests say that they did not run; `TESSERA_REQUIRE_MPI=1` forbids that. */
export const hasMpi: boolean = version.status === 0;
if (!hasMpi && process.env.TESSERA_REQUIRE_MPI === '1')
  throw new Error(`TESSERA_REQUIRE_MPI=1, but ${MPIRUN} does not run: ${String(version.error)}`);

/** For titles of tests. */
export const NOT_RUN: string = hasMpi ? '' : ' (NOT RUN: there is no mpirun on this machine)';

const isOpenMpi = hasMpi && /Open ?(?:MPI|RTE)/i.test(version.stdout);

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Bundles are below the package, so that they find koffi. */
const folder = `${root}/node_modules/.mpi-programs`;

/** What became of a job. */
export interface JobResult {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
  /** It did not end by itself within a minute. */
  readonly hung: boolean;
}

const bundles = new Map<string, Promise<string>>();

/** Bundles a program of `test/programs`; its path. */
export function bundle(program: string): Promise<string> {
  const known = bundles.get(program);
  if (known !== undefined) return known;
  const outfile = `${folder}/${program}-${process.pid}.mjs`;
  const made = build({
    entryPoints: [`${root}/test/programs/${program}.ts`],
    bundle: true,
    outfile,
    format: 'esm',
    platform: 'node',
    conditions: ['@tessera/source'],
    external: ['koffi', 'webgpu'],
    logLevel: 'silent',
    sourcemap: 'inline',
  }).then(() => outfile);
  bundles.set(program, made);
  return made;
}

/** Runs `mpirun -n ranks node program args…`. */
export async function mpirun(
  ranks: number,
  program: string,
  {
    args = [],
    env = {},
  }: { args?: readonly string[]; env?: Readonly<Record<string, string>> } = {},
): Promise<JobResult> {
  const path = await bundle(program);
  const own = isOpenMpi ? ['--oversubscribe', '--allow-run-as-root'] : [];
  return new Promise((resolve) => {
    execFile(
      MPIRUN,
      [...own, '-n', String(ranks), process.execPath, path, ...args],
      {
        env: { ...process.env, FORCE_COLOR: '0', NODE_OPTIONS: '', ...env },
        timeout: 60_000,
        killSignal: 'SIGKILL',
      },
      (error, stdout, stderr) =>
        resolve({
          status: error === null ? 0 : Number(error.code ?? 137),
          stdout,
          stderr,
          hung: error?.killed === true,
        }),
    );
  });
}
