/**
 * @file Running the ranks of a job under `mpirun`, and reading what they wrote.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { loadCheckpoint } from '@tessera/tensor';
import type { RankOptions } from './train-rank.js';

/** What a job left. */
export interface Run {
  readonly losses: readonly number[];
  readonly weights: ReadonlyMap<string, Float32Array>;
}

/** Open MPI refuses more ranks than cores, and the user root, unless told otherwise; MPICH does not know these. */
const OPEN_MPI = {
  OMPI_MCA_rmaps_base_oversubscribe: '1',
  OMPI_ALLOW_RUN_AS_ROOT: '1',
  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1',
};

/** Runs a job; returns its exit status. Its output goes where this program's goes, if it should be seen. */
export function launch(ranks: number, options: RankOptions, visible = true): number {
  const program = process.argv[1]!;
  const { status, error } = spawnSync(
    'mpirun',
    ['-n', String(ranks), process.execPath, program, '--rank', JSON.stringify(options)],
    {
      stdio: visible ? ['ignore', 'inherit', 'inherit'] : 'ignore',
      env: { ...process.env, ...OPEN_MPI },
    },
  );
  if (error !== undefined)
    throw new Error('mpirun was not found. Install MPI: apt-get install mpich (or openmpi-bin).', {
      cause: error,
    });
  return status ?? 1;
}

/** What a finished job wrote. */
export async function readRun(out: string): Promise<Run> {
  const tensors = await loadCheckpoint(`${out}.safetensors`);
  return {
    losses: JSON.parse(readFileSync(`${out}.json`, 'utf8')) as number[],
    weights: new Map(
      Object.entries(tensors).map(([name, tensor]) => [
        name,
        tensor.toTypedArray() as Float32Array,
      ]),
    ),
  };
}

/** Largest difference of two runs: of the losses to each loss, of each weight tensor to its norm. */
export function difference(a: Run, b: Run): { readonly losses: number; readonly weights: number } {
  const losses = Math.max(...a.losses.map((loss, i) => Math.abs(loss - b.losses[i]!) / loss));
  let weights = 0;
  for (const [name, values] of a.weights) {
    const other = b.weights.get(name)!;
    const norm = Math.sqrt(values.reduce((sum, v) => sum + v * v, 0));
    const apart = Math.sqrt(values.reduce((sum, v, i) => sum + (v - other[i]!) ** 2, 0));
    weights = Math.max(weights, apart / norm);
  }
  return { losses, weights };
}
