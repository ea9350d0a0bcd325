/**
 * Starts the ranks of a communicator: processes under `mpirun`, or threads joined by message ports.
 */
import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { build } from 'esbuild';
import type { CommunicatorReport } from '../../src/index.js';

const version = spawnSync('mpirun', ['--version'], { encoding: 'utf8' });

/** Whether there is MPI; `TESSERA_REQUIRE_MPI=1` makes it an error that there is not. */
export const hasMpi: boolean = version.status === 0;
if (!hasMpi && process.env.TESSERA_REQUIRE_MPI === '1')
  throw new Error(`TESSERA_REQUIRE_MPI=1, but mpirun does not run: ${String(version.error)}`);

const here = fileURLToPath(new URL('.', import.meta.url));
/** Its dependencies hold koffi. */
const distributed = fileURLToPath(new URL('../../../distributed', import.meta.url));

/** Bundles a program of this folder from the sources. */
async function bundle(program: string): Promise<string> {
  const outfile = `${here}../../.test-results/${program}.mjs`;
  await build({
    entryPoints: [`${here}${program}.ts`],
    bundle: true,
    outfile,
    format: 'esm',
    platform: 'node',
    conditions: ['@tessera/source'],
    external: ['koffi', 'webgpu'],
    logLevel: 'silent',
  });
  return outfile;
}

/** The reports of ranks over MPI. */
export async function suiteOverMpi(ranks: number): Promise<CommunicatorReport[]> {
  const program = await bundle('run-suite');
  const own = /Open ?(?:MPI|RTE)/i.test(version.stdout)
    ? ['--oversubscribe', '--allow-run-as-root']
    : [];
  const stdout = await new Promise<string>((resolve, reject) => {
    execFile(
      'mpirun',
      [...own, '-n', String(ranks), process.execPath, program],
      { cwd: distributed, timeout: 150_000, maxBuffer: 1 << 24 },
      (error, out, err) => (error === null ? resolve(out) : reject(new Error(`${out}\n${err}`))),
    );
  });
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('report '))
    .map((line) => JSON.parse(line.slice('report '.length)) as CommunicatorReport);
}

/** The reports of ranks that are threads. */
export async function suiteOverPorts(ranks: number): Promise<CommunicatorReport[]> {
  const program = await bundle('port-rank');
  const ports = Array.from({ length: ranks }, (): (MessagePort | null)[] =>
    Array.from({ length: ranks }, () => null),
  );
  for (let a = 0; a < ranks; a++)
    for (let b = a + 1; b < ranks; b++) {
      const { port1, port2 } = new MessageChannel();
      ports[a]![b] = port1;
      ports[b]![a] = port2;
    }
  return Promise.all(
    ports.map(
      (own, rank) =>
        new Promise<CommunicatorReport>((resolve, reject) => {
          const worker = new Worker(program, {
            workerData: { rank, ports: own },
            transferList: own.filter((port) => port !== null),
          });
          worker.once('message', resolve);
          worker.once('error', reject);
        }),
    ),
  );
}
